// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Model
import NIOCore
import NIOWebSocket
import Wire

/// What leaves: collected during a turn of the loop, and handed to the channel no faster than the client takes it. All on the loop.
extension Socket {
    /// What leaves, and what waits.
    struct Outgoing {
        /// Short packets of this turn.
        var outbox = ByteBuffer()
        /// What this turn has to send beside them, ahead of them.
        var batch: [(buffers: [ByteBuffer], lease: AnswerBudget.Lease)] = []
        var batchBytes = 0
        /// What the channel does not take yet.
        var waiting = WaitingFrames()
        /// Whether the hub flushes this socket at the end of the turn.
        var isTouched = false
        var isPumping = false
        var queue = OutgoingQueue()
        var drainWaiters: [EventLoopPromise<Void>] = []
        /// Of this turn.
        var bytes: Int { batchBytes + outbox.readableBytes }
    }

    /// What the channel is handed at a time.
    private static let pieceBytes = 64 << 10
    /// What one socket may hand to its channel before others have their turn.
    private static let turnBytes = 256 << 10
    private static let emptyBuffer = ByteBuffer()

    /// Whether the channel takes more at once.
    var isWritable: Bool { outgoing.waiting.isEmpty && context?.channel.isWritable ?? false }

    /// Returns once the channel takes more, or has closed; what a catch-up found too long to be rendered here is rendered meanwhile.
    func drained() async throws {
        try await renderAhead()
        try await hub.loop
            .flatSubmit { () -> EventLoopFuture<Void> in
                let promise = self.hub.loop.makePromise(of: Void.self)
                if self.isWritable || !self.isOpen { promise.succeed() } else { self.outgoing.drainWaiters.append(promise) }
                return promise.futureResult
            }
            .get()
    }

    // MARK: Collecting

    /// Puts packets behind what this turn has to send.
    func collect(_ rendering: Rendering, stamp: TimestampText, values: ReaderValues) {
        if !outgoing.isTouched {
            outgoing.isTouched = true
            hub.touched(self)
        }
        if rendering.isLarge {
            var counter = sequence.counter
            for tail in rendering.tails {
                if tail.text.readableBytes < Rendering.sharedBytes {
                    outgoing.outbox.writePackets([tail], counter: counter, timestamp: stamp, values: values)
                } else {
                    closeOutbox()
                    let lease = rendering.lease ?? AnswerBudget.Lease(hub.services.answers, holding: tail.text.readableBytes)
                    let frame = tail.frame(counter: counter, timestamp: stamp, values: values)
                    outgoing.batchBytes += frame.reduce(0) { $0 + $1.readableBytes }
                    outgoing.batch.append((frame, lease))
                }
                counter += 1
            }
        } else {
            if outgoing.outbox.capacity == 0 { outgoing.outbox = hub.takeBuffer() }
            outgoing.outbox.writePackets(rendering.tails, counter: sequence.counter, timestamp: stamp, values: values)
        }
    }

    /// What is in the outbox goes before what comes next.
    private func closeOutbox() {
        guard outgoing.outbox.readableBytes > 0 else { return }
        let bytes = outgoing.outbox
        outgoing.outbox = Self.emptyBuffer
        outgoing.batchBytes += bytes.readableBytes
        outgoing.batch.append(([bytes], AnswerBudget.Lease(hub.services.answers, holding: bytes.readableBytes)))
    }

    // MARK: Handing on

    /// Hands on what this turn has collected, and what waited before.
    /// - Returns: bytes that the channel was given.
    @discardableResult
    func flush() -> Int {
        outgoing.isTouched = false
        let bytes = outgoing.bytes
        guard bytes > 0, let rawContext else { return pump() }
        if isClosing {
            dropTurn()
            return pump()
        }
        let isSlow = !isWritable
        guard admits(bytes, isSlow: isSlow) else {
            dropTurn()
            abandon()
            return 0
        }
        if !isSlow, outgoing.batch.isEmpty, bytes <= Self.pieceBytes {
            let bytes = outgoing.outbox
            outgoing.outbox = Self.emptyBuffer
            rawContext.writeAndFlush(NIOAny(bytes), promise: nil)
            let count = bytes.readableBytes
            hub.giveBack(consume bytes)
            return count
        }
        closeOutbox()
        for (buffers, lease) in outgoing.batch { outgoing.waiting.append(buffers, lease) }
        dropTurn()
        return pump()
    }

    private func dropTurn() {
        outgoing.outbox = Self.emptyBuffer
        outgoing.batch = []
        outgoing.batchBytes = 0
    }

    /// Whether so much may wait behind what does already. Where there is no room left for the answers to others, nothing waits for a slow client.
    private func admits(_ bytes: Int, isSlow: Bool) -> Bool {
        if isSlow, hub.services.answers.isExceeded(by: 0) {
            hub.services.metrics.slowSocketsClosed.increment()
            return false
        }
        guard case .abandon = outgoing.queue.write(bytes, isWritable: !isSlow, bound: hub.services.settings.socketBacklogBytes) else { return true }
        hub.services.metrics.slowSocketsClosed.increment()
        return false
    }

    /// Gives the channel what waits, as far as it takes it, and not so much at once that others would have to wait.
    @discardableResult
    func pump() -> Int {
        guard !outgoing.isPumping, let context, let rawContext else { return 0 }
        outgoing.isPumping = true
        defer { outgoing.isPumping = false }
        var count = 0
        while context.channel.isWritable, count < Self.turnBytes, let piece = outgoing.waiting.next(atMost: Self.pieceBytes) {
            count += piece.readableBytes
            rawContext.writeAndFlush(NIOAny(piece), promise: nil)
        }
        reportBacklog()
        if isWritable {
            let waiters = outgoing.drainWaiters
            outgoing.drainWaiters = []
            for waiter in waiters { waiter.succeed() }
        } else if !outgoing.isTouched, context.channel.isWritable {
            outgoing.isTouched = true
            hub.touched(self)
        }
        return count
    }

    private func reportBacklog() {
        let growth = outgoing.waiting.bytes - reportedBacklog
        outgoing.queue.left(outgoing.waiting.bytes)
        guard growth != 0 else { return }
        reportedBacklog = outgoing.waiting.bytes
        hub.services.metrics.backlogBytes.increment(by: Double(growth))
    }

    /// Nothing will be sent any more.
    func dropOutgoing() {
        dropTurn()
        outgoing.waiting.removeAll()
        reportBacklog()
        let waiters = outgoing.drainWaiters
        outgoing.drainWaiters = []
        for waiter in waiters { waiter.succeed() }
    }

    // MARK: Control frames

    func sendControl(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
        guard let context, !isClosing else { return }
        flush()
        guard !isClosing else { return }
        guard !outgoing.waiting.isEmpty else {
            return context.writeAndFlush(NIOAny(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
        }
        guard admits(data.readableBytes + 2, isSlow: true) else { return abandon() }
        wait(for: opcode, data)
    }

    /// Puts a control frame behind what waits: within another frame it would be no frame.
    private func wait(for opcode: WebSocketOpcode, _ data: ByteBuffer) {
        var frame = ByteBuffer()
        let code: UInt8 =
            switch opcode {
            case .ping: 0x9
            case .pong: 0xa
            default: 0x8
            }
        frame.writeInteger(0x80 | code)
        frame.writeInteger(UInt8(clamping: min(data.readableBytes, 125)))
        frame.writeImmutableBuffer(data.getSlice(at: data.readerIndex, length: min(data.readableBytes, 125)) ?? ByteBuffer())
        outgoing.waiting.append([frame], AnswerBudget.Lease(hub.services.answers, holding: frame.readableBytes))
        pump()
    }

    func ping() { sendControl(.ping, ByteBuffer()) }

    // MARK: The end

    /// Says why, then closes. What was written before still goes out.
    func close(_ reason: CloseReason) {
        guard isOpen, !isClosing, context != nil else { return }
        flush()
        guard !isClosing else { return }
        sayGoodbye(reason)
        // The peer answers with a close frame of its own, or is cut off.
        cutOff(after: .seconds(2))
        catchUpTask?.cancel()
    }

    /// For a peer that does not read: what waits is dropped but for the rest of the frame that it is getting, and it may still read why.
    private func abandon() {
        guard context != nil, !isClosing else { return }
        outgoing.waiting.dropUnbegun()
        sayGoodbye(.tooSlow)
        cutOff(after: .seconds(1))
        hub.leaveAll(self)
        catchUpTask?.cancel()
    }

    private func sayGoodbye(_ reason: CloseReason) {
        guard let context else { return }
        isClosing = true
        if outgoing.waiting.isEmpty {
            context.writeAndFlush(NIOAny(WebSocketFrame(fin: true, opcode: .connectionClose, data: reason.payload)), promise: nil)
        } else {
            wait(for: .connectionClose, reason.payload)
        }
        reportBacklog()
    }

    private func cutOff(after time: TimeAmount) {
        guard let channel = context?.channel else { return }
        hub.loop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
