// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import FanOut
import NIOCore
import NIOWebSocket
import StrataModel
import StrataWire

/// Output of the socket: collected during an event-loop turn, and written no faster than the client reads. All members
/// run on the loop unless they are asynchronous.
extension Socket {
    /// True if the channel accepts more bytes at once.
    var isWritable: Bool { !outbox.isWaiting && context?.channel.isWritable ?? false }

    /// Returns when the channel accepts more bytes or has closed. Meanwhile it renders an item that is too long for the
    /// loop.
    func drained() async throws {
        try await renderAhead()
        try await registry.loop
            .flatSubmit { () -> EventLoopFuture<Void> in
                let promise = self.registry.loop.makePromise(of: Void.self)
                if self.isWritable || !self.isOpen { promise.succeed() } else { self.outbox.waitUntilDrained(promise) }
                return promise.futureResult
            }
            .get()
    }

    // MARK: Writing

    /// Writes the packets of this turn and the backlog.
    /// - Returns: the number of bytes written to the channel.
    @discardableResult
    func flush() -> Int {
        let isChannelWritable = context?.channel.isWritable ?? false
        switch outbox.turnEnded(isChannelWritable: isChannelWritable, isClosing: isClosing || rawContext == nil) {
        case .pump: return pump()
        case .abandon:
            abandon()
            return 0
        case .write:
            let bytes = outbox.takePackets()
            let count = bytes.readableBytes
            rawContext?.writeAndFlush(NIOAny(bytes), promise: nil)
            registry.giveBack(consume bytes)
            return count
        }
    }

    /// Writes the backlog as far as the channel accepts it, up to the limit for one turn.
    @discardableResult
    func pump() -> Int {
        guard let context, let rawContext, outbox.beginPumping() else { return 0 }
        defer { outbox.endPumping() }
        var count = 0
        while context.channel.isWritable, let piece = outbox.nextPiece(after: count) {
            count += piece.readableBytes
            rawContext.writeAndFlush(NIOAny(piece), promise: nil)
        }
        reportBacklog()
        if isWritable {
            for waiter in outbox.takeDrainWaiters() { waiter.succeed() }
        } else if outbox.pumped(isChannelWritable: context.channel.isWritable) {
            registry.scheduleFlush(of: self)
        }
        return count
    }

    private func reportBacklog() {
        let growth = outbox.takeBacklogGrowth()
        if growth != 0 { home.services.metrics.backlogBytes.increment(by: Double(growth)) }
    }

    func dropOutgoing() {
        outbox.removeAll()
        reportBacklog()
        for waiter in outbox.takeDrainWaiters() { waiter.succeed() }
    }

    // MARK: Control frames

    func sendControl(_ opcode: WebSocketOpcode, data: ByteBuffer) {
        guard let context, !isClosing else { return }
        flush()
        guard !isClosing else { return }
        if isWritable {
            return context.writeAndFlush(NIOAny(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
        }
        guard outbox.admitsControl(data.readableBytes + 2) else { return abandon() }
        sendControlBehindWaiting(opcode, data: data)
    }

    private func sendControlBehindWaiting(_ opcode: WebSocketOpcode, data: ByteBuffer) {
        var frame = ByteBuffer()
        let code: UInt8 =
            switch opcode {
            case .ping: 0x9
            case .pong: 0xa
            default: 0x8
            }
        frame.writeInteger(0x80 | code)
        frame.writeInteger(UInt8(clamping: min(data.readableBytes, 125)))
        frame.writeImmutableBuffer(
            data.getSlice(at: data.readerIndex, length: min(data.readableBytes, 125)) ?? ByteBuffer())
        outbox.appendWaiting(frame)
        pump()
    }

    func ping() { sendControl(.ping, data: ByteBuffer()) }

    // MARK: Closing

    /// Sends a close frame with a reason, then closes the connection. Earlier output is still sent.
    func close(_ reason: CloseReason) {
        guard isOpen, !isClosing, context != nil else { return }
        flush()
        guard !isClosing else { return }
        sendClose(reason)
        // The peer answers with a close frame. If it does not, the connection is closed after the delay.
        cutOff(after: .seconds(2))
        catchUps.task?.cancel()
    }

    /// Closes the connection of a peer that does not read. The backlog is dropped, except for the rest of a partially
    /// written frame. The peer can still receive the reason.
    private func abandon() {
        home.services.metrics.slowSocketsClosed.increment()
        guard context != nil, !isClosing else { return }
        outbox.dropUnbegun()
        sendClose(.tooSlow)
        cutOff(after: .seconds(1))
        registry.detachAll(self)
        catchUps.task?.cancel()
    }

    private func sendClose(_ reason: CloseReason) {
        guard let context else { return }
        link.closes()
        if !outbox.isWaiting {
            context.writeAndFlush(
                NIOAny(WebSocketFrame(fin: true, opcode: .connectionClose, data: reason.payload)), promise: nil)
        } else {
            sendControlBehindWaiting(.connectionClose, data: reason.payload)
        }
        reportBacklog()
    }

    private func cutOff(after time: TimeAmount) {
        guard let channel = context?.channel else { return }
        registry.loop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
