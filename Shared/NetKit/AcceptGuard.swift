// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A channel handler that keeps a listening socket alive while the process has no free descriptors or memory.
///
/// It pauses accepting, counts the failures, and logs one line at the beginning of the shortage and one at its end.
///
/// The last descriptors of a process are reserved (``OpenFileLimit``). A connection that receives one of them is closed
/// at once, regardless of what uses the others.
///
/// Without a pause the event loop would spin: the connection that cannot be accepted stays in the kernel's queue, so
/// the socket stays readable. Open connections are not affected. Waiting connections are accepted when descriptors or
/// memory become free.
public final class AcceptGuard: ChannelDuplexHandler {
    /// The accepted connections, which are passed on unchanged.
    public typealias InboundIn = any Channel
    /// The outbound type, which is passed on unchanged.
    public typealias OutboundIn = any Channel

    /// The pause after a failure to accept. Long enough to cost almost nothing, short enough for a waiting client.
    static let pause = TimeAmount.milliseconds(200)

    /// The number of descriptors reserved from connections. More than a process opens for other purposes at any moment.
    public static let reserve = 32

    private let logger: Logger
    private let reserve: Int
    private let onFailure: () -> Void
    private var isFailing = false
    private var pausedUntil: NIODeadline?
    private var waiting: Scheduled<Void>?

    /// - Parameters:
    ///   - name: The name of the listener in the log.
    ///   - reserve: The number of the process's descriptors that connections of this listener cannot use.
    ///   - onFailure: Called for each connection that was not accepted.
    public init(_ name: String, reserve: Int = AcceptGuard.reserve, logger: Logger, onFailure: @escaping () -> Void) {
        self.reserve = reserve
        var logger = logger
        logger[metadataKey: "listener.name"] = "\(name)"
        self.logger = logger
        self.onFailure = onFailure
    }

    /// Adds the guard at the front of the channel's pipeline, before any handler that closes the channel because of an
    /// error. Must be called on the channel's event loop.
    public static func add(
        _ name: String, reserve: Int = reserve, to channel: any Channel, logger: Logger, onFailure: @escaping () -> Void
    ) throws {
        try channel.pipeline.syncOperations.addHandler(
            AcceptGuard(name, reserve: reserve, logger: logger, onFailure: onFailure), position: .first)
    }

    /// Defers the read until the pause has ended.
    public func read(context: ChannelHandlerContext) {
        guard waiting == nil else { return }
        guard let pausedUntil, pausedUntil > .now() else { return context.read() }
        waiting = context.eventLoop.assumeIsolated()
            .scheduleTask(deadline: pausedUntil) { [self] in
                waiting = nil
                context.read()
            }
    }

    /// Passes an accepted connection on, or closes it if it uses a reserved descriptor.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        guard !isReserveReached(context.channel) else {
            channel.close(promise: nil)
            return failed(with: EMFILE, limit: Self.limit(EMFILE) ?? "")
        }
        if isFailing {
            isFailing = false
            logger.notice("accepting connections again")
        }
        context.fireChannelRead(data)
    }

    /// Handles a failure to accept a connection.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, let limit = Self.limit(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        failed(with: error.errnoCode, limit: limit)
    }

    private func failed(with errno: CInt, limit: String) {
        onFailure()
        pausedUntil = .now() + Self.pause
        guard !isFailing else { return }
        isFailing = true
        logger.error(
            "connections cannot be accepted", metadata: ["error.message": "\(limit)", "error.errno": "\(errno)"])
    }

    /// Returns true if only reserved descriptors are free.
    ///
    /// The check duplicates the listener's descriptor, because the connection's own descriptor is only available on the
    /// connection's event loop.
    private func isReserveReached(_ listener: any Channel) -> Bool {
        let isReached = try? listener.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            OpenFileLimit.hasFewerFree(than: reserve, probing: socket)
        }
        // nil without a BSD socket, and if the check failed.
        return isReached.flatMap { $0 } ?? false
    }

    /// Cancels the pending read.
    public func channelInactive(context: ChannelHandlerContext) {
        waiting?.cancel()
        waiting = nil
        context.fireChannelInactive()
    }

    /// Returns the exhausted resource, or nil if the error concerns one connection or something else.
    static func limit(_ errno: CInt) -> String? {
        switch errno {
        case EMFILE: "open files of this process (RLIMIT_NOFILE)"
        case ENFILE: "open files of the system (fs.file-max)"
        case ENOBUFS, ENOMEM: "memory of the system"
        default: nil
        }
    }
}
