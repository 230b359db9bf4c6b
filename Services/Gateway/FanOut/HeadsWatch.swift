// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

/// When heads are compared, from when on, and what follows for the times that packets may carry (ARCHITECTURE §6).
///
/// A change that pub/sub lost is known of only once heads have been compared. Until then nobody can tell that it is owed; so no packet is stamped much later
/// than the last comparison, and whoever loses his connection replays from before what nobody knew of.
struct HeadsWatch {
    /// How far beyond the last comparison packets may be stamped. With the heads' usual interval this never shows. Replays start 30 s before the time
    /// of the last packet; what is left of them is for changes that were stamped before that comparison and committed after it.
    static let trust = Duration.seconds(25)
    /// The same before the first comparison, by the gateway's own clock.
    static let firstTrust = Duration.seconds(20)
    /// Services answer for the last 120 s. Who has not compared for longer has missed what no comparison will show any more.
    static let memory = TimeAmount.seconds(110)
    /// The first question is answered for the last 30 s.
    static let firstMemory = TimeAmount.seconds(25)

    /// What a comparison shows.
    struct Finding: Equatable {
        /// What it finds missing happened since then, but for what was committed late.
        var missingSince: Timestamp
        /// No packet may be stamped later, once the gaps it shows are open.
        var stampLimit: Timestamp
        /// Whoever was there before this may miss more than it shows; nil: nobody does.
        var missedBefore: NIODeadline?
    }

    let timing: FanOutTiming
    /// The database's clock at the last comparison: where the next question starts. Nil before the first.
    private(set) var since: Timestamp?
    /// Until then heads are compared as often as while pub/sub is away.
    private(set) var mistrustedUntil: NIODeadline?
    private(set) var isAsking = false
    /// Up to then nothing is missing but what a comparison shows; nil while there is nobody who could miss anything.
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

    /// Somebody is there.
    /// - Parameter wallClock: of this gateway.
    /// - Returns: if nobody was, the time beyond which no packet may be stamped until heads have been compared.
    mutating func woke(at now: NIODeadline, wallClock: Timestamp) -> Timestamp? {
        guard watchedSince == nil else { return nil }
        watchedSince = now
        return wallClock.advanced(by: Self.firstTrust)
    }

    /// Nobody is there who could miss anything.
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

    /// The answer came from another history of the database: what was asked before says nothing of it. Everybody who could have missed something is sent away.
    mutating func startedAnew(at now: NIODeadline) {
        isAsking = false
        since = nil
        watchedSince = askedAt ?? now
    }

    /// The answer came.
    mutating func answered(asOf time: Timestamp, at now: NIODeadline) -> Finding {
        isAsking = false
        let memory = since == nil ? Self.firstMemory : Self.memory
        let missedBefore = watchedSince.flatMap { $0 + memory < now ? now - memory : nil }
        let missingSince = since ?? time.advanced(by: .zero - Self.trust)
        since = time
        watchedSince = askedAt ?? now
        return Finding(missingSince: missingSince, stampLimit: time.advanced(by: Self.trust), missedBefore: missedBefore)
    }
}
