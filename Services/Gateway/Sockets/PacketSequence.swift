// SPDX-License-Identifier: Apache-2.0
import Model

/// Which number and which time the next packet of a connection carries.
///
/// A stock client that loses its connection replays from the time of the last packet it got. So a time never goes back, and never lies beyond a change
/// that is still owed (ARCHITECTURE §6, replay).
struct PacketSequence {
    /// The number of the next packet: 0, 1, 2, … without gaps.
    private(set) var counter: Int64 = 0
    /// The time of the last packet.
    private(set) var lastStamp = Timestamp(microseconds: 0)
    /// No packet is stamped later than this while a catch-up owes changes; nil: none does.
    var floor: Timestamp?
    /// The same while the client listens and has not asked for anything: a replay that it asks for later must bring all that came before.
    var unasked: Timestamp?

    /// The latest time that may be shown now to a packet that was made at `time`.
    /// - Parameter ceiling: the same as ``floor``, for what the fan-out misses, or may miss.
    func allowed(_ time: Timestamp, ceiling: Timestamp?) -> Timestamp {
        var limit = time
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
