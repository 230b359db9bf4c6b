// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Keeps a listening socket through a time without descriptors or memory: pauses, counts, and says once what is missing and once that it is over.
///
/// Without a pause the loop would spin: the connection that cannot be accepted stays in the kernel's queue, and so the socket stays readable.
/// Connections that are open are not touched by any of this; those that wait are accepted when something has been closed.
public final class AcceptGuard: ChannelDuplexHandler {
    /// What accepting is about; nothing is done to it.
    public typealias InboundIn = any Channel
    /// Passed on as they are.
    public typealias OutboundIn = any Channel

    /// How long nothing is accepted after a failure. Long enough to cost nothing, short enough for a client that waits.
    static let pause = TimeAmount.milliseconds(200)

    private let logger: Logger
    private let failures: Counter
    private var isFailing = false
    private var pausedUntil: NIODeadline?
    private var waiting: Scheduled<Void>?

    /// - Parameter name: tells the listeners of one process apart, in the log and in `strata_accept_failures_total{listener="…"}`.
    public init(_ name: String, logger: Logger) {
        var logger = logger
        logger[metadataKey: "listener"] = "\(name)"
        self.logger = logger
        failures = Counter(label: "strata_accept_failures_total", dimensions: [("listener", name)])
    }

    /// Takes its place in front of whatever the channel has, and so before anything that closes it because of an error. On the channel's loop.
    public static func add(_ name: String, to channel: any Channel, logger: Logger) throws {
        try channel.pipeline.syncOperations.addHandler(AcceptGuard(name, logger: logger), position: .first)
    }

    /// Holds the wish to accept back while there is a pause.
    public func read(context: ChannelHandlerContext) {
        guard waiting == nil else { return }
        guard let pausedUntil, pausedUntil > .now() else { return context.read() }
        waiting = context.eventLoop.assumeIsolated()
            .scheduleTask(deadline: pausedUntil) { [self] in
                waiting = nil
                context.read()
            }
    }

    /// One was accepted.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isFailing {
            isFailing = false
            logger.notice("connections are accepted again")
        }
        context.fireChannelRead(data)
    }

    /// One could not be accepted.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, let limit = Self.limit(error.errnoCode) else { return context.fireErrorCaught(error) }
        failures.increment()
        pausedUntil = .now() + Self.pause
        guard !isFailing else { return }
        isFailing = true
        logger.error("connections cannot be accepted", metadata: ["limit": "\(limit)", "errno": "\(error.errnoCode)"])
    }

    /// The listener is gone.
    public func channelInactive(context: ChannelHandlerContext) {
        waiting?.cancel()
        waiting = nil
        context.fireChannelInactive()
    }

    /// What ran out; nil: the error is about one connection, or about something else.
    static func limit(_ errno: CInt) -> String? {
        switch errno {
        case EMFILE: "open files of this process (RLIMIT_NOFILE)"
        case ENFILE: "open files of the system (fs.file-max)"
        case ENOBUFS, ENOMEM: "memory of the system"
        default: nil
        }
    }
}
