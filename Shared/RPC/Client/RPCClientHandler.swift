// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NetKit

/// The channel handler of a client's connection. It sends requests from the mailbox and completes calls when frames
/// arrive.
///
/// ``RPCClientHandshake``, ``RPCCallTable`` and ``KeepAlive`` make the decisions; this class performs them.
final class RPCClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Item = RPCClientConnection.Item

    private enum Phase {
        case opening
        case ready
        case draining
        case closed
    }

    /// A promise that succeeds when calls can be made, or fails with an `RPCError`.
    let opened: EventLoopPromise<Void>
    private let configuration: RPCClientConfiguration
    private let mailbox: Mailbox<Item>
    private let logger: Logger
    private let onDraining: @Sendable () -> Void

    private var phase = Phase.opening
    private var handshake: RPCClientHandshake
    private var calls: RPCCallTable<RPCWaiter>
    private var liveness: KeepAlive
    private var reader = RPCFrameReader()
    private var timer = DeadlineTimer()
    private let writer = RPCFrameWriter()
    private var spareMail: [Item] = []
    private var openingTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var drainTimer: Scheduled<Void>?
    /// True if a goaway must be sent after the remaining requests in the mailbox were written.
    private var isGoawayPending = false
    private var context: ChannelHandlerContext?

    init(
        configuration: RPCClientConfiguration, arriving: ByteBudget = ByteBudget(limit: .max), mailbox: Mailbox<Item>,
        eventLoop: any EventLoop, logger: Logger,
        onDraining: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.mailbox = mailbox
        self.logger = logger
        self.onDraining = onDraining
        self.opened = eventLoop.makePromise(of: Void.self)
        self.handshake = RPCClientHandshake(
            secret: RPCSecret(configuration.clusterSecret), nonce: .random(), service: configuration.service)
        self.calls = RPCCallTable(maxAnswerBytes: configuration.maxAnswerBytes, arriving: arriving)
        self.liveness = KeepAlive(allowedMisses: configuration.pingMisses)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        openingTimer = after(configuration.connectTimeout) { [self] in
            if phase == .opening {
                failOpening(with: .unavailable, reason: "the server did not finish the opening in time")
            }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ended()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("RPC connection failed", metadata: ["error.message": "\(error)"])
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        liveness.recordProgress()
        reader.append(unwrapInboundIn(data))
        do throws(RPCFrameError) {
            while phase != .closed, let frame = try reader.next(limit: frameLimit) { try frameReceived(frame) }
        } catch {
            logger.error("malformed RPC frame, closing the connection", metadata: ["error.message": "\(error)"])
            context.close(promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        closeIfDrained()
        context.fireChannelReadComplete()
    }

    private var frameLimit: Int { phase == .opening ? RPCFrame.handshakeLimit : configuration.maxFrameBytes }

    // MARK: Frames

    private func frameReceived(_ frame: RPCFrame) throws(RPCFrameError) {
        guard phase != .opening else { return open(frame) }
        switch frame {
        case .answer(let id, let payload): perform(calls.answered(id, with: payload), forCall: id)
        case .answerPart(let id, let payload): perform(calls.partAnswered(id, with: payload), forCall: id)
        case .error(let id, let code, let payload):
            perform(calls.failed(id, error: code == .application ? .application(payload) : RPCError(code)), forCall: id)
        case .goaway: drainAskedByServer()
        case .ping: writer.writeFrame(.pong)
        case .pong: break
        case .challenge, .hello, .welcome, .request, .cancel: throw .unexpected
        }
    }

    private func open(_ frame: RPCFrame) {
        switch handshake.frameReceived(frame) {
        case .send(let hello):
            writer.writeFrame(hello)
        case .established:
            phase = .ready
            openingTimer?.cancel()
            opened.succeed(())
            scheduleTick()
        case .fail(let error, let reason):
            // Log a warning each time for a wrong secret or a refusal by the server, because the operator must notice
            // them.
            failOpening(with: error, reason: reason, level: .warning)
        }
    }

    /// Fails the handshake.
    /// - Parameter level: `debug` for an unreachable or hanging server, because ``RPCClient`` reports unavailability
    ///   once.
    private func failOpening(with error: RPCError, reason: String, level: Logger.Level = .debug) {
        logger.log(level: level, "RPC connection refused", metadata: ["error.message": "\(reason)"])
        phase = .closed
        opened.fail(error)
        context?.close(promise: nil)
    }

    private func perform(_ action: RPCCallTable<RPCWaiter>.Action, forCall id: UInt64) {
        switch action {
        case .none: break
        case .complete(let completion): resume(completion)
        case .completeAndCancel(let completion):
            writer.writeFrame(.cancel(id: id))
            resume(completion)
        }
    }

    private func resume(_ completion: RPCCallTable<RPCWaiter>.Completion) {
        switch completion.result {
        case .success(let answer): completion.token.resume(returning: .answered(answer))
        case .failure(let error): completion.token.resume(returning: .failed(error))
        }
    }

    // MARK: Mailbox

    /// Processes the mailbox after an item was put into the empty mailbox.
    func mailFilled() {
        guard phase != .closed else { return }
        var bytes = carryOut(mailbox.take(spare: spareMail))
        if isGoawayPending {
            // The mailbox no longer accepts calls, so these are the last ones.
            bytes += carryOut(mailbox.take())
            isGoawayPending = false
            writer.writeFrame(.goaway)
        }
        flush(releasing: bytes)
        armTimer()
        closeIfDrained()
    }

    /// Processes items. Returns the bytes of payload written.
    private func carryOut(_ mail: [Item]) -> Int {
        spareMail = []
        var bytes = 0
        for item in mail {
            switch item {
            case .call(let id, let call, let waiter):
                bytes += call.payload.readableBytes
                send(id: id, call: call, waiter: waiter)
            case .cancel(let id): perform(calls.cancelled(id), forCall: id)
            case .drain(let limit): drainAskedByClient(within: limit)
            }
        }
        keep(mail)
        return bytes
    }

    private func keep(_ mail: [Item]) {
        var mail = mail
        mail.removeAll(keepingCapacity: mail.count <= 1024)
        spareMail = mail
    }

    private func send(id: UInt64, call: RPCOutgoingCall, waiter: RPCWaiter) {
        guard phase != .closed else { return waiter.resume(returning: .notSent) }
        let remaining = RPCRequestHead.remaining(until: call.deadline, from: .now)
        guard remaining > 0 else { return waiter.resume(returning: .failed(.deadlineExceeded)) }
        guard calls.started(id, token: waiter, deadline: call.deadline) else {
            return waiter.resume(returning: .failed(.internal))
        }
        let head = RPCRequestHead(method: call.method, remainingMicroseconds: remaining, trace: call.trace)
        writer.writeFrame(payload: call.payload, to: context) {
            $0.writeRequestHead(id: id, head, payloadBytes: call.payload.readableBytes)
        }
    }

    private func flush(releasing bytes: Int = 0) {
        guard let context else {
            mailbox.release(.init(bytes: bytes))
            return
        }
        guard bytes > 0 else { return writer.flush(to: context, promise: nil) }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { [mailbox] _ in mailbox.release(.init(bytes: bytes)) }
        writer.flush(to: context, promise: promise)
    }

    private func armTimer() {
        timer.arm(at: calls.earliestDeadline, on: opened.futureResult.eventLoop) { [self] in deadlineReached() }
    }

    private func deadlineReached() {
        timer.fired()
        guard phase != .closed else { return }
        for (id, completion) in calls.expired(at: .now) {
            writer.writeFrame(.cancel(id: id))
            resume(completion)
        }
        flush()
        armTimer()
        closeIfDrained()
    }

    // MARK: Closing

    /// Drains the connection at the server's request. Calls already accepted are still sent, followed by a goaway, so
    /// that the server need not refuse any.
    private func drainAskedByServer() {
        guard phase == .ready else { return }
        phase = .draining
        mailbox.drain()
        isGoawayPending = true
        onDraining()
        mailFilled()
    }

    private func drainAskedByClient(within limit: Duration) {
        switch phase {
        case .opening: return failOpening(with: .unavailable, reason: "the client is shutting down")
        case .closed: return
        case .draining: break
        case .ready:
            phase = .draining
            mailbox.drain()
            isGoawayPending = true
            onDraining()
        }
        drainTimer?.cancel()
        drainTimer = after(limit) { [self] in context?.close(promise: nil) }
    }

    private func closeIfDrained() {
        // If the mailbox is not empty, its wake-up calls this method again.
        guard phase == .draining, calls.isEmpty, mailbox.waiting == 0 else { return }
        context?.close(promise: nil)
    }

    private func ended() {
        if phase == .opening { opened.fail(RPCError.unavailable) }
        phase = .closed
        timer.cancel()
        openingTimer?.cancel()
        tickTimer?.cancel()
        drainTimer?.cancel()
        for item in mailbox.close() {
            if case .call(_, _, let waiter) = item { waiter.resume(returning: .notSent) }
        }
        for completion in calls.closed() { resume(completion) }
    }

    // MARK: Keep-alive

    private func scheduleTick() {
        tickTimer = after(configuration.pingInterval) { [self] in tick() }
    }

    private func tick() {
        guard phase != .closed, let context else { return }
        switch liveness.tick() {
        case .none: break
        case .ping:
            writer.writeFrame(.ping)
            flush()
        case .giveUp:
            logger.warning("RPC server is silent, closing the connection")
            context.close(promise: nil)
            return
        }
        scheduleTick()
    }

    private func after(_ delay: Duration, run body: @escaping () -> Void) -> Scheduled<Void> {
        opened.futureResult.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay), body)
    }
}
