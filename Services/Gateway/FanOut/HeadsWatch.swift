// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

/// When heads are compared, and from when on (ARCHITECTURE §6).
struct HeadsWatch {
    let timing: FanOutTiming
    /// The database's clock at the last comparison: where the next question starts. Nil before the first.
    private(set) var since: Timestamp?
    /// Until then heads are compared as often as while pub/sub is away.
    private(set) var mistrustedUntil: NIODeadline?
    private(set) var isAsking = false

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

    /// Time to compare. False: that is being done already.
    mutating func begin() -> Bool {
        guard !isAsking else { return false }
        isAsking = true
        return true
    }

    mutating func failed() { isAsking = false }

    /// The answer came.
    mutating func answered(asOf time: Timestamp) {
        isAsking = false
        since = time
    }
}
