// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

/// Decides when to compare heads, from which time on, and how late packets may be stamped (docs/architecture.md §6).
///
/// Only a comparison of heads reveals a change that pub/sub lost. Until then the gateway does not know that clients
/// miss the change. Packets are therefore not stamped much later than the last comparison. A client that loses its
/// connection then replays from a time before the unknown change.
struct HeadReconciler {
    /// The maximum time beyond the last comparison that packets may be stamped with. It has no visible effect at the
    /// usual interval.
    ///
    /// A replay starts 30 s before the time of the last packet. The remaining 5 s allow for transactions that were open
    /// at that comparison.
    static let trust = Duration.seconds(25)
    /// The period for which a later comparison is complete. Services answer for the last 120 s, and for 30 s more
    /// because of slow transactions. After a longer pause, no comparison reveals all missed changes.
    static let memory = TimeAmount.seconds(110)
    /// The period for which the first comparison is complete. It names no time and is answered for the last 30 s.
    static let firstMemory = TimeAmount.seconds(25)

    struct Finding: Equatable {
        /// The earliest time of the missing changes. Only a change with a slow commit can be older.
        var missingSince: Timestamp
        /// Sockets opened before this time may miss more changes than the comparison reveals. nil: no socket does.
        var missedBefore: NIODeadline?
    }

    let timing: FanOutTiming
    /// The database's clock at the last comparison, at which the next request starts. nil before the first.
    private(set) var since: Timestamp?
    /// The time until which heads are compared as often as while pub/sub is unavailable.
    private(set) var mistrustedUntil: NIODeadline?
    /// True while a comparison is in progress.
    private(set) var isAsking = false
    /// The time before which all changes are delivered or will be found by the next comparison. nil while no sockets
    /// are open.
    private var watchedSince: NIODeadline?
    /// The beginning of the last comparison.
    private var askedAt: NIODeadline?

    init(timing: FanOutTiming) { self.timing = timing }

    /// Returns the time until the next comparison. It is short while pub/sub is unavailable and shortly after.
    /// - Parameter jitter: a random factor, 0.875 to 1.125, that keeps gateways from asking at the same time.
    mutating func pause(at now: NIODeadline, isPubSubAvailable: Bool, jitter: Double) -> TimeAmount {
        if let end = mistrustedUntil, now >= end { mistrustedUntil = nil }
        let base = isPubSubAvailable && mistrustedUntil == nil ? timing.headsInterval : timing.headsIntervalWhileAway
        return .nanoseconds(Int64(Double(base.nanoseconds) * jitter))
    }

    /// Handles the recovery of pub/sub: for some time, publications can still be missing.
    mutating func pubSubRecovered(at now: NIODeadline) { mistrustedUntil = now + timing.mistrust }

    /// Handles the opening of a socket.
    /// - Returns: true for the first socket. The database's clock is then unknown until heads are compared: without
    ///   sockets the gateway did not ask for heads, and the clock may have been set meanwhile.
    mutating func firstSocketOpened(at now: NIODeadline) -> Bool {
        guard watchedSince == nil else { return false }
        watchedSince = now
        return true
    }

    /// Handles the closing of the last socket.
    mutating func lastSocketClosed() {
        watchedSince = nil
        since = nil
    }

    /// Begins a comparison. Returns false if one is in progress.
    mutating func begin(at now: NIODeadline) -> Bool {
        guard !isAsking else { return false }
        isAsking = true
        askedAt = now
        return true
    }

    /// Ends a comparison without an answer. The next one covers the same period.
    mutating func failed() { isAsking = false }

    /// Restarts after an epoch change, because earlier answers do not apply to the new epoch. The caller closes all
    /// sockets that may have missed changes.
    mutating func restart(at now: NIODeadline) {
        isAsking = false
        since = nil
        watchedSince = askedAt ?? now
    }

    /// The maximum advance of the database's clock between two comparisons, beyond the elapsed time. A larger advance
    /// means that the clock was set, so heads of earlier changes cannot be requested.
    static let leap = Duration.seconds(60)

    /// Ends a comparison with an answer.
    /// - Parameter time: the database's clock at the time of the answer.
    mutating func answered(asOf time: Timestamp, at now: NIODeadline) -> Finding {
        isAsking = false
        let memory = since == nil ? Self.firstMemory : Self.memory
        var missedBefore = watchedSince.flatMap { $0 + memory < now ? now - memory : nil }
        if let since, let watchedSince, time > since.advanced(by: watchedSince.elapsed(until: now) + Self.leap) {
            missedBefore = now
        }
        let missingSince = since ?? time.advanced(by: .zero - Self.trust)
        since = time
        watchedSince = askedAt ?? now
        return Finding(missingSince: missingSince, missedBefore: missedBefore)
    }
}
