// SPDX-License-Identifier: Apache-2.0

/// How long to wait before connecting again.
public struct RPCBackoff: Sendable, Hashable {
    /// Longest wait before the first attempt after a loss.
    public var initial: Duration
    /// Longest wait at all.
    public var maximum: Duration

    /// Waits that double from `initial` to `maximum`; the wait itself is drawn from the upper half, so that clients of a restarted server do
    /// not come back all at once.
    public init(initial: Duration = .milliseconds(50), maximum: Duration = .seconds(2)) {
        self.initial = initial
        self.maximum = maximum
    }

    /// The wait before attempt number `attempt` (from 0).
    /// - Parameter random: in 0..<1.
    func delay(attempt: Int, random: Double) -> Duration {
        let ceiling = attempt >= 20 ? maximum : min(maximum, initial * (1 << max(0, attempt)))
        return ceiling * (0.5 + random / 2)
    }
}
