// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel

/// Which number and which time the next packet of a connection carries.
///
/// A stock client that loses its connection replays from the time of the last packet it got. So a time never goes back, and never lies beyond a
/// change that is still owed (docs/architecture.md §6, The time on packets).
struct PacketSequence {
    /// The number of the next packet: 0, 1, 2, … without gaps.
    private(set) var counter: Int64 = 0
    private(set) var lastStamp = Timestamp(microseconds: 0)
    /// No packet is stamped later than this while a catch-up owes changes; nil: none does.
    private(set) var floor: Timestamp?
    /// The same while the client listens and has not asked for anything: a replay that it asks for later must bring all that came before.
    private(set) var unasked: Timestamp?

    /// Up to here nothing is missing but what ``floor`` says: what may be shown while the database's clock is not known.
    private(set) var start = Timestamp(microseconds: 0)

    // MARK: What happens to the socket

    /// It has opened; before this time its client has loaded what it knows.
    mutating func opened(at time: Timestamp) { start = time }

    mutating func clientSpoke() { unasked = nil }

    /// The client has asked for nothing so far, and is told what happens all the same. A replay that it asks for later is to miss nothing since `time`.
    mutating func clientListens(replayableSince time: Timestamp) { unasked = time }

    /// A catch-up begins that the client did not ask for.
    mutating func openingBegins(at time: Timestamp) {
        floor = time
        start = max(start, time)
    }

    /// A replay from `time` begins. It is as if nothing had been sent since: then the client would ask for the same once more.
    mutating func replayBegins(at time: Timestamp) {
        floor = max(time, lastStamp)
        start = max(time, lastStamp)
    }

    /// Something since `time` is owed, beside what a catch-up owes that runs already.
    mutating func owes(since time: Timestamp) { floor = floor ?? time }

    /// A catch-up is about to send what was made at `time`.
    /// - Parameter limit: what waits behind this catch-up is owed since then.
    mutating func replayReached(_ time: Timestamp, limit: Timestamp?) { floor = min(max(floor ?? time, time), limit ?? .distantFuture) }

    /// A catch-up has reached the present.
    /// - Parameters:
    ///   - time: up to then all logs have been read, by the database's clock; nil of one that read only some.
    ///   - isReplay: the time that a client named for a replay may lie before it, of a clock that was set back since.
    mutating func caughtUp(asOf time: Timestamp?, isReplay: Bool) {
        floor = nil
        if let time { start = isReplay ? time : max(start, time) }
    }

    // MARK: The next packet

    /// The latest time that may be shown now to a packet that was made at `time`.
    /// - Parameters:
    ///   - ceiling: the same as ``floor``, for what the fan-out misses, or may miss.
    ///   - isTimeKnown: whether the fan-out knows the database's clock.
    func allowed(_ time: Timestamp, ceiling: Timestamp?, isTimeKnown: Bool) -> Timestamp {
        var limit = isTimeKnown ? time : min(time, start)
        if let floor { limit = min(limit, floor) }
        if let unasked { limit = min(limit, unasked) }
        if let ceiling { limit = min(limit, ceiling) }
        return max(limit, lastStamp)
    }

    /// So many packets leave with this time, which must be an allowed one.
    mutating func sent(_ count: Int, stamp: Timestamp) {
        counter += Int64(count)
        lastStamp = stamp
    }
}
