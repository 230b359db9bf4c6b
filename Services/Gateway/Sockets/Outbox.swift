// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire

/// What one socket has to send, and what it may send: packets of this turn of the loop, frames that wait for the client, the number and the time of the next
/// packet, and packets that are held back until an answer has left.
///
/// A value without a channel: the socket says what has happened, and does what it is told.
struct Outbox {
    enum TurnEnd {
        /// Give the channel what waits, as far as it takes it.
        case pump
        /// Write ``takePackets()`` at once: nothing waits.
        case write
        /// More waits than may: give the client up.
        case abandon
    }

    /// What a turn of the loop has collected.
    private struct Turn {
        var packets = ByteBuffer()
        /// What goes ahead of them.
        var batch: [(buffers: [ByteBuffer], lease: AnswerBudget.Lease)] = []
        var batchBytes = 0
        var bytes: Int { batchBytes + packets.readableBytes }
    }

    /// What the channel is handed at a time.
    static let pieceBytes = 64 << 10
    /// What one socket may hand to its channel before others have their turn.
    static let turnBytes = 256 << 10
    private static let emptyBuffer = ByteBuffer()

    /// As many bytes may wait beyond what the channel itself takes.
    private let bound: Int
    /// In which all that waits counts.
    private let answers: AnswerBudget
    private var turn = Turn()
    /// What the channel does not take yet.
    private var waiting = WaitingFrames()
    private var queue = OutgoingQueue()
    private(set) var sequence = PacketSequence()
    /// Whether the registry flushes this socket at the end of the turn.
    private(set) var isTouched = false
    private var isPumping = false
    private var drainWaiters: [EventLoopPromise<Void>] = []
    /// What the metrics know of what waits here.
    private var reportedBacklog = 0
    /// What came of users' presence while `Presence.sync` is being answered, the latest of each; nil at other times.
    private var heldPresence: [UserID: PacketTail]?

    init(bound: Int, answers: AnswerBudget) {
        self.bound = bound
        self.answers = answers
    }

    /// Of this turn.
    var turnBytes: Int { turn.bytes }
    var waitingBytes: Int { waiting.bytes }
    /// Whether something waits for the channel, so that what comes next has to wait, too.
    var isWaiting: Bool { !waiting.isEmpty }
    /// Whether a catch-up waits until the client has read.
    var hasDrainWaiters: Bool { !drainWaiters.isEmpty }
    /// The number of the last packet; -1 before the first.
    var lastCounter: Int64 { sequence.counter - 1 }
    var lastStamp: Timestamp { sequence.lastStamp }

    // MARK: Collecting

    /// Whether these packets need a buffer, which ``append(_:values:stamp:limit:)`` then finds here.
    func needsBuffer(for rendering: Rendering) -> Bool { !rendering.isLarge && turn.packets.capacity == 0 }

    mutating func provide(_ buffer: consuming ByteBuffer) { turn.packets = buffer }

    /// Puts packets behind what this turn has to send.
    /// - Parameters:
    ///   - limit: no packet is stamped later, because of what others than this socket miss.
    ///   - isTimeKnown: whether the fan-out knows the database's clock.
    /// - Returns: whether they are the first of this turn.
    mutating func append(_ rendering: Rendering, values: ReaderValues, stamp: Stamp, limit: Timestamp?, isTimeKnown: Bool) -> Bool {
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

    /// The short packets so far go before what comes next.
    private mutating func closePackets() {
        guard turn.packets.readableBytes > 0 else { return }
        let bytes = takePackets()
        turn.batchBytes += bytes.readableBytes
        turn.batch.append(([bytes], AnswerBudget.Lease(answers, holding: bytes.readableBytes)))
    }

    /// - Returns: false if the socket is to be flushed anyway.
    private mutating func touch() -> Bool {
        guard !isTouched else { return false }
        isTouched = true
        return true
    }

    // MARK: Handing on

    /// The turn of the loop is over.
    /// - Parameters:
    ///   - isChannelWritable: whether the channel takes more.
    ///   - isClosing: nothing may be sent any more.
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

    /// The short packets of this turn, which are kept no longer.
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

    /// Whether so much may wait behind what does already. Where there is no room left for the answers to others, nothing waits for a slow client.
    private mutating func admits(_ bytes: Int, isSlow: Bool) -> Bool {
        if isSlow, answers.isExceeded(by: 0) { return false }
        return switch queue.admit(bytes, isWritable: !isSlow, bound: bound) {
        case .write: true
        case .abandon: false
        }
    }

    /// - Returns: false while the channel is being given what waits.
    mutating func beginPumping() -> Bool {
        guard !isPumping else { return false }
        isPumping = true
        return true
    }

    /// What the channel is given next; nil: nothing, or others have their turn.
    /// - Parameter count: bytes that it was given in this turn.
    mutating func nextPiece(after count: Int) -> ByteBuffer? { count < Self.turnBytes ? waiting.next(atMost: Self.pieceBytes) : nil }

    /// The channel has taken what it takes now.
    /// - Returns: whether the registry is to flush this socket at the end of the turn, since others have theirs before.
    mutating func pumped(isChannelWritable: Bool) -> Bool { isChannelWritable && isWaiting && touch() }

    mutating func endPumping() { isPumping = false }

    /// By how much there waits more than when this was asked last.
    mutating func takeBacklogGrowth() -> Int {
        let growth = waiting.bytes - reportedBacklog
        queue.left(waiting.bytes)
        reportedBacklog = waiting.bytes
        return growth
    }

    // MARK: Control frames, and the end

    /// Whether a control frame of so many bytes may wait behind what does.
    mutating func admitsControl(_ bytes: Int) -> Bool { admits(bytes, isSlow: true) }

    /// Puts a whole frame behind what waits: within another frame it would be no frame.
    mutating func appendWaiting(_ frame: ByteBuffer) {
        waiting.append([frame], lease: AnswerBudget.Lease(answers, holding: frame.readableBytes))
    }

    /// The client is given up: it gets no more than the rest of the frame that it is getting.
    mutating func dropUnbegun() { waiting.dropUnbegun() }

    /// Nothing will be sent any more.
    mutating func removeAll() {
        dropTurn()
        waiting.removeAll()
        heldPresence = nil
    }

    // MARK: Waiting until the client has read

    mutating func waitUntilDrained(_ promise: EventLoopPromise<Void>) { drainWaiters.append(promise) }

    /// Those who have waited long enough.
    mutating func takeDrainWaiters() -> [EventLoopPromise<Void>] {
        let waiters = drainWaiters
        drainWaiters = []
        return waiters
    }

    // MARK: Presence that is held back

    /// `Presence.sync` is about to be answered: what changes from now on may be missing in the answer, and has to follow it.
    mutating func holdPresence() { heldPresence = [:] }

    /// - Returns: false if it is to be sent now.
    mutating func hold(_ tail: PacketTail, of user: UserID) -> Bool {
        guard heldPresence != nil else { return false }
        heldPresence?[user] = tail
        return true
    }

    /// What was held back while a request about presence was being answered.
    mutating func takeHeldPresence() -> [PacketTail] {
        guard let held = heldPresence else { return [] }
        heldPresence = nil
        return Array(held.values)
    }

    // MARK: What packets may show

    mutating func opened(at time: Timestamp) { sequence.opened(at: time) }
    mutating func clientSpoke() { sequence.clientSpoke() }
    mutating func clientListens(replayableSince time: Timestamp) { sequence.clientListens(replayableSince: time) }
    mutating func openingBegins(at time: Timestamp) { sequence.openingBegins(at: time) }
    mutating func replayBegins(at time: Timestamp) { sequence.replayBegins(at: time) }
    mutating func owes(since time: Timestamp) { sequence.owes(since: time) }
    mutating func replayReached(_ time: Timestamp, limit: Timestamp?) { sequence.replayReached(time, limit: limit) }
    mutating func caughtUp(asOf time: Timestamp?, isReplay: Bool) { sequence.caughtUp(asOf: time, isReplay: isReplay) }
}
