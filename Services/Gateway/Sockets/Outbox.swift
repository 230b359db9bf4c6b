// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire

/// The outgoing state of a socket: packets of the current event-loop turn, frames queued for the client, the counter
/// and time of the next packet, and deferred presence packets.
///
/// The outbox is a value without a channel: the socket reports events and performs the returned actions.
struct Outbox {
    enum TurnEnd {
        /// Write queued frames to the channel, as far as it accepts them.
        case pump
        /// Write ``takePackets()`` at once, because no frames are queued.
        case write
        /// Close the connection, because the backlog exceeds the limit.
        case abandon
    }

    private struct Turn {
        var packets = ByteBuffer()
        /// Frames that precede `packets`.
        var batch: [(buffers: [ByteBuffer], lease: AnswerBudget.Lease)] = []
        var batchBytes = 0
        var bytes: Int { batchBytes + packets.readableBytes }
    }

    /// The maximum size of one write to the channel, in bytes.
    static let pieceBytes = 64 << 10
    /// The maximum number of bytes written in one turn, before other sockets are flushed.
    static let turnBytes = 256 << 10
    private static let emptyBuffer = ByteBuffer()

    /// The maximum backlog in bytes, beyond what the channel accepts.
    private let bound: Int
    /// The budget that counts all queued bytes.
    private let answers: AnswerBudget
    private var turn = Turn()
    private var waiting = WaitingFrames()
    private var outgoing = OutgoingBuffer()
    private(set) var sequence = PacketSequence()
    /// True if the registry will flush this socket at the end of the turn.
    private(set) var isTouched = false
    private var isPumping = false
    private var drainWaiters: [EventLoopPromise<Void>] = []
    /// The backlog last reported to the metrics.
    private var reportedBacklog = 0
    /// The latest presence packet of each user, deferred until `Presence.sync` is answered. nil at other times.
    private var heldPresence: [UserID: PacketTail]?

    init(bound: Int, answers: AnswerBudget) {
        self.bound = bound
        self.answers = answers
    }

    /// Bytes collected during the current event-loop turn.
    var turnBytes: Int { turn.bytes }
    var waitingBytes: Int { waiting.bytes }
    /// True if frames are queued because the channel is not writable. Further frames then queue behind them.
    var isWaiting: Bool { !waiting.isEmpty }
    /// True if a catch-up waits for the backlog to drain.
    var hasDrainWaiters: Bool { !drainWaiters.isEmpty }
    /// The counter of the last packet. -1 before the first.
    var lastCounter: Int64 { sequence.counter - 1 }
    var lastStamp: Timestamp { sequence.lastStamp }

    // MARK: Collecting

    /// True if these packets need a buffer. The caller must then call ``provide(_:)`` before
    /// ``append(_:values:stamp:limit:isTimeKnown:)``.
    func needsBuffer(for rendering: Rendering) -> Bool { !rendering.isLarge && turn.packets.capacity == 0 }

    mutating func provide(_ buffer: consuming ByteBuffer) { turn.packets = buffer }

    /// Appends packets to those of the current turn.
    /// - Parameters:
    ///   - limit: the latest time allowed on packets, because of changes that are missing beyond this socket.
    ///   - isTimeKnown: true if the fan-out knows the database's clock.
    /// - Returns: true if the socket must be added to the flush queue.
    mutating func append(
        _ rendering: Rendering, values: ReaderValues, stamp: Stamp, limit: Timestamp?, isTimeKnown: Bool
    ) -> Bool {
        let time = sequence.allowed(stamp.time, ceiling: limit, isTimeKnown: isTimeKnown)
        let stamp = time == stamp.time ? stamp : Stamp(time)
        if rendering.isLarge {
            appendLarge(rendering, values: values, stamp: stamp)
        } else {
            turn.packets.writePackets(rendering.tails, counter: sequence.counter, timestamp: stamp.text, values: values)
        }
        sequence.sent(rendering.tails.count, stamp: stamp.time)
        return touch()
    }

    private mutating func appendLarge(_ rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        var counter = sequence.counter
        for tail in rendering.tails {
            if tail.text.readableBytes < Rendering.sharedBytes {
                turn.packets.writePackets([tail], counter: counter, timestamp: stamp.text, values: values)
            } else {
                closePackets()
                let lease = rendering.lease ?? AnswerBudget.Lease(answers, holding: tail.text.readableBytes)
                let frame = tail.frame(counter: counter, timestamp: stamp.text, values: values)
                turn.batchBytes += frame.reduce(0) { $0 + $1.readableBytes }
                turn.batch.append((frame, lease))
            }
            counter += 1
        }
    }

    /// Moves the short packets so far into the batch, ahead of the following frames.
    private mutating func closePackets() {
        guard turn.packets.readableBytes > 0 else { return }
        let bytes = takePackets()
        turn.batchBytes += bytes.readableBytes
        turn.batch.append(([bytes], AnswerBudget.Lease(answers, holding: bytes.readableBytes)))
    }

    /// - Returns: false if a flush is already scheduled.
    private mutating func touch() -> Bool {
        guard !isTouched else { return false }
        isTouched = true
        return true
    }

    // MARK: Writing

    /// Ends the current turn.
    /// - Parameters:
    ///   - isChannelWritable: true if the channel accepts more bytes.
    ///   - isClosing: true if no further packets may be sent.
    mutating func turnEnded(isChannelWritable: Bool, isClosing: Bool) -> TurnEnd {
        isTouched = false
        let bytes = turn.bytes
        guard bytes > 0 else { return .pump }
        guard !isClosing else {
            dropTurn()
            return .pump
        }
        let isSlow = !isChannelWritable || isWaiting
        guard admits(bytes, isSlow: isSlow) else {
            dropTurn()
            return .abandon
        }
        if !isSlow, turn.batch.isEmpty, bytes <= Self.pieceBytes { return .write }
        closePackets()
        for (buffers, lease) in turn.batch { waiting.append(buffers, lease: lease) }
        dropTurn()
        return .pump
    }

    /// Removes and returns the short packets of the current turn.
    mutating func takePackets() -> ByteBuffer {
        let bytes = turn.packets
        turn.packets = Self.emptyBuffer
        return bytes
    }

    private mutating func dropTurn() {
        turn.packets = Self.emptyBuffer
        turn.batch = []
        turn.batchBytes = 0
    }

    /// Returns true if `bytes` may be queued. While the answer budget is exceeded, no bytes are queued for a slow
    /// client.
    private mutating func admits(_ bytes: Int, isSlow: Bool) -> Bool {
        if isSlow, answers.isExceeded(by: 0) { return false }
        return switch outgoing.admit(bytes, isWritable: !isSlow, bound: bound) {
        case .write: true
        case .abandon: false
        }
    }

    /// - Returns: false if queued frames are already being written.
    mutating func beginPumping() -> Bool {
        guard !isPumping else { return false }
        isPumping = true
        return true
    }

    /// Returns the next piece to write. nil at the end of the queue or of the turn's limit.
    /// - Parameter count: the number of bytes written in this turn.
    mutating func nextPiece(after count: Int) -> ByteBuffer? {
        count < Self.turnBytes ? waiting.next(atMost: Self.pieceBytes) : nil
    }

    /// Ends the writes of a turn.
    /// - Returns: true if the socket must be added to the flush queue again, because it has reached the turn's limit.
    mutating func pumped(isChannelWritable: Bool) -> Bool { isChannelWritable && isWaiting && touch() }

    mutating func endPumping() { isPumping = false }

    /// Returns the growth of the backlog since the previous call.
    mutating func takeBacklogGrowth() -> Int {
        let growth = waiting.bytes - reportedBacklog
        outgoing.left(waiting.bytes)
        reportedBacklog = waiting.bytes
        return growth
    }

    // MARK: Control frames and closing

    /// Returns true if a control frame of this size may be queued behind the backlog.
    mutating func admitsControl(_ bytes: Int) -> Bool { admits(bytes, isSlow: true) }

    /// Queues a complete frame. A control frame must not be written inside a partially written data frame.
    mutating func appendWaiting(_ frame: ByteBuffer) {
        waiting.append([frame], lease: AnswerBudget.Lease(answers, holding: frame.readableBytes))
    }

    /// Drops all queued frames except for the rest of a partially written one, because the connection is being closed.
    mutating func dropUnbegun() { waiting.dropUnbegun() }

    mutating func removeAll() {
        dropTurn()
        waiting.removeAll()
        heldPresence = nil
    }

    // MARK: Draining

    mutating func waitUntilDrained(_ promise: EventLoopPromise<Void>) { drainWaiters.append(promise) }

    /// Removes and returns the promises that wait for the backlog to drain.
    mutating func takeDrainWaiters() -> [EventLoopPromise<Void>] {
        let waiters = drainWaiters
        drainWaiters = []
        return waiters
    }

    // MARK: Deferred presence

    /// Starts to defer presence packets, because `Presence.sync` is about to be answered. Later changes may be missing
    /// from the answer, and must follow it.
    mutating func holdPresence() { heldPresence = [:] }

    /// Defers a presence packet.
    /// - Returns: false if the packet must be sent now.
    mutating func hold(_ tail: PacketTail, of user: UserID) -> Bool {
        guard heldPresence != nil else { return false }
        heldPresence?[user] = tail
        return true
    }

    /// Stops deferring presence packets, and returns the deferred ones.
    mutating func takeHeldPresence() -> [PacketTail] {
        guard let held = heldPresence else { return [] }
        heldPresence = nil
        return Array(held.values)
    }

    // MARK: Times on packets

    mutating func opened(at time: Timestamp) { sequence.opened(at: time) }
    mutating func requestReceived() { sequence.requestReceived() }
    mutating func startUnsolicited(replayableSince time: Timestamp) { sequence.startUnsolicited(replayableSince: time) }
    mutating func openingBegins(at time: Timestamp) { sequence.openingBegins(at: time) }
    mutating func replayBegins(at time: Timestamp) { sequence.replayBegins(at: time) }
    mutating func addPending(since time: Timestamp) { sequence.addPending(since: time) }
    mutating func replayReached(_ time: Timestamp, limit: Timestamp?) { sequence.replayReached(time, limit: limit) }
    mutating func caughtUp(asOf time: Timestamp?, isReplay: Bool) { sequence.caughtUp(asOf: time, isReplay: isReplay) }
}

/// The counter and the time of the next packet on a connection.
///
/// A stock client that loses its connection replays from the time of its last packet. The time therefore never
/// decreases, and is never later than a change that the client still lacks (docs/architecture.md §6, The time on
/// packets).
struct PacketSequence {
    /// The counter of the next packet: 0, 1, 2, … without gaps.
    private(set) var counter: Int64 = 0
    private(set) var lastStamp = Timestamp(microseconds: 0)
    /// The latest time allowed on packets while a catch-up has pending changes. nil: no limit.
    private(set) var floor: Timestamp?
    /// The latest time allowed on packets until the client's first request. A later replay must include everything
    /// before it. nil: no limit.
    private(set) var unsolicitedLimit: Timestamp?

    /// The time up to which nothing is missing except for changes after ``floor``. It limits packets while the
    /// database's clock is unknown.
    private(set) var start = Timestamp(microseconds: 0)

    // MARK: Events of the socket

    /// Handles the opening of the socket. The client loaded its state before `time`.
    mutating func opened(at time: Timestamp) { start = time }

    mutating func requestReceived() { unsolicitedLimit = nil }

    /// Starts sending to a client that has made no request. A later replay must miss no change since `time`.
    mutating func startUnsolicited(replayableSince time: Timestamp) { unsolicitedLimit = time }

    /// Begins a catch-up that the client did not request.
    mutating func openingBegins(at time: Timestamp) {
        floor = time
        start = max(start, time)
    }

    /// Begins a replay from `time`. Until it progresses, packets carry no later time. If the connection is lost, the
    /// client therefore requests the same replay again.
    mutating func replayBegins(at time: Timestamp) {
        floor = max(time, lastStamp)
        start = max(time, lastStamp)
    }

    /// Records pending changes since `time`, in addition to those of a running catch-up.
    mutating func addPending(since time: Timestamp) { floor = floor ?? time }

    /// Handles the progress of a catch-up, which is about to send a change made at `time`.
    /// - Parameter limit: the time of the first change pending after this catch-up.
    mutating func replayReached(_ time: Timestamp, limit: Timestamp?) {
        floor = min(max(floor ?? time, time), limit ?? .distantFuture)
    }

    /// Ends a catch-up that has reached the present.
    /// - Parameters:
    ///   - time: the time up to which all logs were read, by the database's clock. nil if only some logs were read.
    ///   - isReplay: true after a replay. If the clock was set back, the client's start time can be later than `time`.
    mutating func caughtUp(asOf time: Timestamp?, isReplay: Bool) {
        floor = nil
        if let time { start = isReplay ? time : max(start, time) }
    }

    // MARK: Times of packets

    /// Returns the latest time allowed on a packet about a change made at `time`.
    /// - Parameters:
    ///   - ceiling: the limit for changes that the fan-out lacks or may lack.
    ///   - isTimeKnown: true if the fan-out knows the database's clock.
    func allowed(_ time: Timestamp, ceiling: Timestamp?, isTimeKnown: Bool) -> Timestamp {
        var limit = isTimeKnown ? time : min(time, start)
        if let floor { limit = min(limit, floor) }
        if let unsolicitedLimit { limit = min(limit, unsolicitedLimit) }
        if let ceiling { limit = min(limit, ceiling) }
        return max(limit, lastStamp)
    }

    /// Records sent packets with this time, which ``allowed(_:ceiling:isTimeKnown:)`` must have returned.
    mutating func sent(_ count: Int, stamp: Timestamp) {
        counter += Int64(count)
        lastStamp = stamp
    }
}
