// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Keeps a listening socket through a time without descriptors or memory: pauses, counts, and says once what is missing and once that it is over.
///
/// The last descriptors of a process are not for connections (``OpenFileLimit``): a connection that gets one of them is closed at once, whatever uses the others.
///
/// Without a pause the loop would spin: the connection that cannot be accepted stays in the kernel's queue, and so the socket stays readable.
/// Connections that are open are not touched by any of this; those that wait are accepted when something has been closed.
public final class AcceptGuard: ChannelDuplexHandler {
    /// The accepted connections; they are not changed.
    public typealias InboundIn = any Channel
    /// Passed on unchanged.
    public typealias OutboundIn = any Channel

    /// How long nothing is accepted after a failure. Long enough to cost nothing, short enough for a client that waits.
    static let pause = TimeAmount.milliseconds(200)

    /// Descriptors that connections never get; more than a process needs at one moment for what it opens itself.
    public static let reserve = 32

    private let logger: Logger
    private let reserve: Int
    private let onFailure: () -> Void
    private var isFailing = false
    private var pausedUntil: NIODeadline?
    private var waiting: Scheduled<Void>?

    /// - Parameters:
    ///   - name: tells the listeners of one process apart in the log.
    ///   - reserve: how many of the descriptors that the process may have are not for connections of this listener.
    ///   - onFailure: called for each connection that was not accepted: counts it.
    public init(_ name: String, reserve: Int = AcceptGuard.reserve, logger: Logger, onFailure: @escaping () -> Void) {
        self.reserve = reserve
        var logger = logger
        logger[metadataKey: "listener.name"] = "\(name)"
        self.logger = logger
        self.onFailure = onFailure
    }

    /// Takes its place in front of whatever the channel has, and so before anything that closes it because of an error. On the channel's loop.
    public static func add(
        _ name: String, reserve: Int = reserve, to channel: any Channel, logger: Logger, onFailure: @escaping () -> Void
    ) throws {
        try channel.pipeline.syncOperations.addHandler(AcceptGuard(name, reserve: reserve, logger: logger, onFailure: onFailure), position: .first)
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
        let channel = unwrapInboundIn(data)
        guard !isReserveReached(context.channel) else {
            channel.close(promise: nil)
            return failed(with: EMFILE, limit: Self.limit(EMFILE) ?? "")
        }
        if isFailing {
            isFailing = false
            logger.notice("connections are accepted again")
        }
        context.fireChannelRead(data)
    }

    /// One could not be accepted.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, let limit = Self.limit(error.errnoCode) else { return context.fireErrorCaught(error) }
        failed(with: error.errnoCode, limit: limit)
    }

    private func failed(with errno: CInt, limit: String) {
        onFailure()
        pausedUntil = .now() + Self.pause
        guard !isFailing else { return }
        isFailing = true
        logger.error("connections cannot be accepted", metadata: ["error.message": "\(limit)", "error.errno": "\(errno)"])
    }

    /// Asked of the listener, on whose loop this runs; the connection's own descriptor can only be asked for on the loop of the connection.
    private func isReserveReached(_ listener: any Channel) -> Bool {
        let isReached = try? listener.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            OpenFileLimit.isLeft(fewerThan: reserve, askingWith: socket)
        }
        // Neither: not a socket of the system's.
        return isReached.flatMap { $0 } ?? false
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
