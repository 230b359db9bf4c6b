// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NetKit

/// A client's connection on its event loop: turns mail into frames and frames into the ends of calls.
///
/// What may happen when is decided by ``RPCClientHandshake``, ``RPCCallTable`` and ``KeepAlive``; this class carries it out.
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

    /// Succeeds when calls may be made; fails with the `RPCError` that tells why not.
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
    /// The server is to be told that no more requests follow, once those handed over are written.
    private var owesGoaway = false
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
            if phase == .opening { failOpening(with: .unavailable, reason: "the server did not finish the opening in time") }
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
        liveness.progressed()
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
            // The operator must hear, each time, of a stranger and of a peer that does not want this client.
            failOpening(with: error, reason: reason, level: .warning)
        }
    }

    /// - Parameter level: a server that hangs or leaves is news once, and the part that counts the instances tells it.
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

    // MARK: Mail

    /// An item has come into the empty mailbox.
    func mailFilled() {
        guard phase != .closed else { return }
        var bytes = carryOut(mailbox.take(spare: spareMail))
        if owesGoaway {
            // The mailbox takes no new calls by now, so that this is the rest of them.
            bytes += carryOut(mailbox.take())
            owesGoaway = false
            writer.writeFrame(.goaway)
        }
        flush(releasing: bytes)
        armTimer()
        closeIfDrained()
    }

    /// Returns the bytes of payload written.
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
        guard calls.started(id, token: waiter, deadline: call.deadline) else { return waiter.resume(returning: .failed(.internal)) }
        let head = RPCRequestHead(method: call.method, remainingMicroseconds: remaining, trace: call.trace)
        writer.writeFrame(payload: call.payload, to: context) { $0.writeRequestHead(id: id, head, payloadBytes: call.payload.readableBytes) }
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
        timer.arm(at: calls.earliestDeadline, on: opened.futureResult.eventLoop) { [self] in deadlineCame() }
    }

    private func deadlineCame() {
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

    // MARK: Ending

    /// What was handed over before is still sent; after that the server learns that nothing follows, so that it need refuse no call.
    private func drainAskedByServer() {
        guard phase == .ready else { return }
        phase = .draining
        mailbox.drain()
        owesGoaway = true
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
            owesGoaway = true
            onDraining()
        }
        drainTimer?.cancel()
        drainTimer = after(limit) { [self] in context?.close(promise: nil) }
    }

    private func closeIfDrained() {
        // A mailbox that is not empty has woken this loop, which comes back here afterwards.
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

    // MARK: Time

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
            logger.warning("RPC server is silent, giving the connection up")
            context.close(promise: nil)
            return
        }
        scheduleTick()
    }

    private func after(_ delay: Duration, run body: @escaping () -> Void) -> Scheduled<Void> {
        opened.futureResult.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay), body)
    }
}
