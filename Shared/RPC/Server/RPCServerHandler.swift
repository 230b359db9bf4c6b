// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NIOCore
import NetKit

/// The channel handler of a server's connection. It starts handlers for requests and sends their results.
///
/// ``RPCServerHandshake``, ``RPCServerCallTable`` and ``KeepAlive`` make the decisions; this class performs them.
final class RPCServerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Item = RPCServerConnection.Item

    private enum Phase {
        case opening
        case ready
        case closed
    }

    private let core: RPCServerCore
    private let connection: RPCServerConnection
    private let peer: String
    private let handshake: RPCServerHandshake

    private var phase = Phase.opening
    private var calls = RPCServerCallTable<Task<Void, Never>>()
    private var longAnswers: RPCLongAnswers
    private var liveness: KeepAlive
    private var reader = RPCFrameReader()
    private let writer = RPCFrameWriter()
    private var timer = DeadlineTimer()
    private var openingTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var drainTimer: Scheduled<Void>?
    private var spareMail: [Item] = []
    private var context: ChannelHandlerContext?

    init(core: RPCServerCore, connection: RPCServerConnection) {
        self.core = core
        self.connection = connection
        let address = connection.channel.remoteAddress
        self.peer = address.map { "\($0.ipAddress ?? "?"):\($0.port ?? 0)" } ?? "?"
        self.handshake = RPCServerHandshake(secret: core.secret, nonce: .random(), service: core.configuration.service)
        self.longAnswers = RPCLongAnswers(pieceBytes: core.configuration.partBytes)
        self.liveness = KeepAlive(allowedMisses: core.configuration.pingMisses)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection.handler.value = self
        if context.channel.isActive { start(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    private func start(_ context: ChannelHandlerContext) {
        guard openingTimer == nil else { return }
        guard core.opened(connection) else {
            phase = .closed
            return context.close(promise: nil)
        }
        openingTimer = after(core.configuration.helloTimeout) { [self] in
            if phase == .opening { refuse(with: nil, reason: "no hello in time") }
        }
        writer.writeFrame(handshake.challenge)
        writer.flush(to: context, promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ended()
        connection.handler.value = nil
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        core.logger.debug("RPC connection failed", metadata: ["rpc.peer": "\(peer)", "error.message": "\(error)"])
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .closed else { return }
        liveness.recordProgress()
        reader.append(unwrapInboundIn(data))
        do throws(RPCFrameError) {
            while phase != .closed, let frame = try reader.next(limit: frameLimit) { try frameReceived(frame) }
        } catch {
            refuse(with: nil, reason: "malformed frame: \(error)")
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        finishTick()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Do not read further requests from a peer that does not accept its responses.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        if context.channel.isWritable {
            liveness.recordProgress()
            finishTick()
        }
        context.fireChannelWritabilityChanged()
    }

    private var frameLimit: Int { phase == .opening ? RPCFrame.handshakeLimit : core.configuration.maxFrameBytes }

    // MARK: Frames

    private func frameReceived(_ frame: RPCFrame) throws(RPCFrameError) {
        guard phase != .opening else { return open(frame) }
        switch frame {
        case .request(let id, let head, let payload): try request(id, head: head, payload: payload)
        case .cancel(let id): cancel(id)
        case .goaway: calls.drainConfirmed()
        case .ping: writer.writeFrame(.pong)
        case .pong: break
        case .challenge, .hello, .welcome, .answer, .answerPart, .error: throw .unexpected
        }
    }

    private func open(_ frame: RPCFrame) {
        switch handshake.frameReceived(frame) {
        case .welcome(let welcome):
            phase = .ready
            openingTimer?.cancel()
            writer.writeFrame(welcome)
            scheduleTick()
        case .refuse(let answer, let reason):
            refuse(with: answer, reason: reason)
        }
    }

    private func refuse(with answer: RPCFrame?, reason: String) {
        guard phase != .closed else { return }
        core.logger.warning("RPC connection refused", metadata: ["rpc.peer": "\(peer)", "error.message": "\(reason)"])
        core.metrics.refusedConnections.increment()
        phase = .closed
        if let answer { writer.writeFrame(answer) }
        closeAfterFlush()
    }

    private func request(_ id: UInt64, head: RPCRequestHead, payload: ByteBuffer) throws(RPCFrameError) {
        let now = ContinuousClock.now
        let deadline = head.deadline(from: now)
        switch calls.requestReceived(id, deadline: deadline, at: now) {
        case .duplicate: throw .unexpected
        case .expired: reject(call: id, method: head.method, with: .deadlineExceeded)
        case .start:
            guard core.reserveSlot(for: payload.readableBytes) else {
                _ = calls.finished(id, isLong: false)
                return reject(call: id, method: head.method, with: .overloaded)
            }
            let context = RPCContext(method: head.method, deadline: deadline, trace: head.trace, peer: peer)
            // The call table owns the task and cancels it with the call or the connection. The core counts it until it
            // returns.
            let executor = core.executor(
                for: head.method, requestBytes: payload.readableBytes, on: connection)
            let task = Task(executorPreference: executor) { [core, connection] in
                let result = await core.handle(context, with: payload)
                if !connection.put(.finished(id: id, method: context.method, started: now, result)) {
                    core.releaseSlot()
                }
            }
            calls.attached(toCall: id, handler: task)
        }
    }

    private func reject(call id: UInt64, method: RPCMethod, with error: RPCError) {
        writer.writeFrame(.error(id: id, code: error.code, payload: ByteBuffer()))
        core.metrics.ended(method, code: error.code, after: .zero)
    }

    private func cancel(_ id: UInt64) {
        calls.cancelled(id)?.cancel()
        if let bytes = longAnswers.remove(id) {
            core.held.release(bytes)
            calls.sent(id)
            core.releaseSlot()
        }
    }

    // MARK: Mailbox

    /// Processes the mailbox after an item was put into the empty mailbox.
    func mailFilled() {
        guard phase != .closed else { return }
        var mail = connection.mailbox.take(spare: spareMail)
        spareMail = []
        for item in mail {
            switch item {
            case .finished(let id, let method, let started, let result):
                finished(id, method: method, startedAt: started, with: result)
            case .drain(let limit): drain(within: limit)
            case .close: context?.close(promise: nil)
            }
        }
        finishTick()
        mail.removeAll(keepingCapacity: mail.count <= 1024)
        spareMail = mail
    }

    private func finished(
        _ id: UInt64, method: RPCMethod, startedAt started: ContinuousClock.Instant,
        with result: Result<ByteBuffer, RPCError>
    ) {
        let code: RPCError.Code?
        switch result {
        case .success(let answer) where answer.readableBytes > core.configuration.partBytes:
            code = nil
            if calls.finished(id, isLong: true) == .answer {
                core.held.add(answer.readableBytes)
                longAnswers.add(answer, forCall: id)
            } else {
                core.releaseSlot()
            }
        case .success(let answer):
            code = nil
            if calls.finished(id, isLong: false) == .answer {
                writer.writeFrame(payload: answer, to: context) {
                    $0.writeFrameHead(.answer, id: id, bodyBytes: answer.readableBytes)
                }
            }
            core.releaseSlot()
        case .failure(let error):
            code = error.code
            if calls.finished(id, isLong: false) == .answer {
                writer.writeFrame(.error(id: id, code: error.code, payload: error.payload ?? ByteBuffer()))
            }
            core.releaseSlot()
        }
        core.metrics.ended(method, code: code, after: .now - started)
    }

    /// Writes pieces of long responses in turn, while the socket is writable.
    private func pumpLongAnswers() {
        guard let context else { return }
        while context.channel.isWritable, let piece = longAnswers.next() {
            let kind: RPCFrame.Kind = piece.isLast ? .answer : .answerPart
            core.held.release(piece.payload.readableBytes)
            writer.writeFrame(payload: piece.payload, to: context) {
                $0.writeFrameHead(kind, id: piece.id, bodyBytes: piece.payload.readableBytes)
            }
            if piece.isLast {
                calls.sent(piece.id)
                core.releaseSlot()
            }
        }
    }

    private func finishTick() {
        guard phase != .closed, let context else { return }
        pumpLongAnswers()
        writer.flush(to: context, promise: nil)
        timer.arm(at: calls.earliestDeadline, on: context.eventLoop) { [self] in deadlineReached() }
        if calls.isDrained {
            phase = .closed
            closeAfterFlush()
        }
    }

    private func deadlineReached() {
        timer.fired()
        guard phase != .closed else { return }
        for (id, handler) in calls.expired(at: .now) {
            handler?.cancel()
            writer.writeFrame(.error(id: id, code: .deadlineExceeded, payload: ByteBuffer()))
        }
        finishTick()
    }

    // MARK: Closing

    private func drain(within limit: Duration) {
        guard phase == .ready else {
            context?.close(promise: nil)
            return
        }
        guard calls.drainAsked() else { return }
        writer.writeFrame(.goaway)
        drainTimer = after(limit) { [self] in
            core.logger.warning(
                "RPC calls still running at the end of draining", metadata: ["rpc.calls": "\(calls.count)"])
            context?.close(promise: nil)
        }
    }

    private func closeAfterFlush() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
        writer.flush(to: context, promise: written)
        // A peer that accepts no data must not keep the connection open.
        drainTimer?.cancel()
        drainTimer = after(.seconds(1)) { [self] in self.context?.close(promise: nil) }
    }

    private func ended() {
        guard context != nil else { return }
        phase = .closed
        timer.cancel()
        for task in [openingTimer, tickTimer, drainTimer] { task?.cancel() }
        for item in connection.mailbox.close() {
            if case .finished = item { core.releaseSlot() }
        }
        for _ in 0..<longAnswers.count { core.releaseSlot() }
        core.held.release(longAnswers.bytes)
        longAnswers = RPCLongAnswers(pieceBytes: core.configuration.partBytes)
        for handler in calls.closed() { handler.cancel() }
        core.closed(connection)
    }

    // MARK: Keep-alive

    private func scheduleTick() {
        tickTimer = after(core.configuration.pingInterval) { [self] in tick() }
    }

    private func tick() {
        guard phase != .closed, let context else { return }
        core.recordInFlight()
        switch liveness.tick() {
        case .none: break
        case .ping:
            writer.writeFrame(.ping)
            finishTick()
        case .giveUp:
            core.logger.warning("RPC client is silent, closing the connection", metadata: ["rpc.peer": "\(peer)"])
            context.close(promise: nil)
            return
        }
        scheduleTick()
    }

    private func after(_ delay: Duration, run body: @escaping () -> Void) -> Scheduled<Void> {
        connection.channel.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay), body)
    }
}
