// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

/// When heads are compared, from when on, and what follows for the times that packets may carry (docs/architecture.md §6).
///
/// The gateway learns of a change that pub/sub lost only when heads are compared. Until then it cannot know that the change is owed. So no packet is
/// stamped much later than the last comparison: a client that loses its connection then replays from before the change that was still unknown.
struct HeadReconciler {
    /// How far beyond the last comparison packets may be stamped. With the heads' usual interval this never shows. Replays start 30 s before the time
    /// of the last packet; the other 5 s are for transactions that were open at that comparison.
    static let trust = Duration.seconds(25)
    /// Services answer for the last 120 s, and 30 s more for slow transactions. A gateway that has not compared for longer has missed what no comparison will show.
    static let memory = TimeAmount.seconds(110)
    /// The first question, which says no time, is answered for the last 30 s.
    static let firstMemory = TimeAmount.seconds(25)

    /// What a comparison shows.
    struct Finding: Equatable {
        /// What it finds missing happened since then. Only a change whose commit took long may be older.
        var missingSince: Timestamp
        /// Sockets that were there before this may miss more than it shows; nil: no socket does.
        var missedBefore: NIODeadline?
    }

    let timing: FanOutTiming
    /// The database's clock at the last comparison: where the next question starts. Nil before the first.
    private(set) var since: Timestamp?
    /// Until then heads are compared as often as while pub/sub is away.
    private(set) var mistrustedUntil: NIODeadline?
    private(set) var isAsking = false
    /// All changes before this are delivered, or the next comparison will find them; nil while there is no socket that could miss anything.
    private var watchedSince: NIODeadline?
    private var askedAt: NIODeadline?

    init(timing: FanOutTiming) { self.timing = timing }

    /// How long to wait for the next comparison: soon while pub/sub is away and just after.
    /// - Parameter jitter: 0.875 to 1.125, at random, so that gateways do not all ask at once.
    mutating func pause(at now: NIODeadline, isPubSubAvailable: Bool, jitter: Double) -> TimeAmount {
        if let end = mistrustedUntil, now >= end { mistrustedUntil = nil }
        let base = isPubSubAvailable && mistrustedUntil == nil ? timing.headsInterval : timing.headsIntervalWhileAway
        return .nanoseconds(Int64(Double(base.nanoseconds) * jitter))
    }

    /// Pub/sub is back.
    mutating func recovered(at now: NIODeadline) { mistrustedUntil = now + timing.mistrust }

    /// A socket has opened.
    /// - Returns: true for the first socket. Then the time is unknown until heads have been compared: without sockets this gateway did not ask, and the database's
    ///   clock may have been set meanwhile.
    mutating func woke(at now: NIODeadline) -> Bool {
        guard watchedSince == nil else { return false }
        watchedSince = now
        return true
    }

    /// The last socket has closed: there is no client that could miss anything.
    mutating func slept() {
        watchedSince = nil
        since = nil
    }

    /// Time to compare. False: that is being done already.
    mutating func begin(at now: NIODeadline) -> Bool {
        guard !isAsking else { return false }
        isAsking = true
        askedAt = now
        return true
    }

    mutating func failed() { isAsking = false }

    /// The answer came from another history of the database: what was asked before says nothing of it. Sockets that may have missed something are closed.
    mutating func startedAnew(at now: NIODeadline) {
        isAsking = false
        since = nil
        watchedSince = askedAt ?? now
    }

    /// By how much more than the time that has passed a clock may have gone on between two comparisons. One that went on by more was set, and the heads of what
    /// happened before that are out of reach.
    static let leap = Duration.seconds(60)

    mutating func answered(asOf time: Timestamp, at now: NIODeadline) -> Finding {
        isAsking = false
        let memory = since == nil ? Self.firstMemory : Self.memory
        var missedBefore = watchedSince.flatMap { $0 + memory < now ? now - memory : nil }
        if let since, let watchedSince, time > since.advanced(by: watchedSince.elapsed(until: now) + Self.leap) { missedBefore = now }
        let missingSince = since ?? time.advanced(by: .zero - Self.trust)
        since = time
        watchedSince = askedAt ?? now
        return Finding(missingSince: missingSince, missedBefore: missedBefore)
    }
}
