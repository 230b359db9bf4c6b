// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel

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
