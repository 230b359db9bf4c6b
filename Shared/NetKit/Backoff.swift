// SPDX-License-Identifier: Apache-2.0

/// How long to wait before each attempt: a bound that doubles up to a maximum, of which a random half is waited, so that many clients of a restarted server do
/// not return at the same moment.
public struct Backoff: Sendable, Hashable {
    /// The longest wait before the first attempt.
    public let initial: Duration
    /// The longest wait before any attempt.
    public let maximum: Duration
    /// How many waits ``next(random:)`` has returned since the last ``reset()``.
    public private(set) var attempts = 0

    /// Waits that grow from `initial` to `maximum`.
    public init(initial: Duration, maximum: Duration) {
        self.initial = initial
        self.maximum = max(maximum, initial)
    }

    /// The next wait.
    /// - Parameter random: from 0 to 1.
    public mutating func next(random: Double) -> Duration {
        defer { attempts += 1 }
        return delay(attempt: attempts, random: random)
    }

    /// The next wait, drawn at random.
    public mutating func next() -> Duration { next(random: .random(in: 0..<1)) }

    /// The next wait is the first one again.
    public mutating func reset() { attempts = 0 }

    /// The wait before an attempt, from half of ``bound(attempt:)`` to the whole.
    /// - Parameters:
    ///   - attempt: 0 for the first.
    ///   - random: from 0 to 1.
    public func delay(attempt: Int, random: Double) -> Duration {
        bound(attempt: attempt) * (0.5 + min(max(random, 0), 1) / 2)
    }

    /// The longest wait before an attempt, 0 for the first.
    public func bound(attempt: Int) -> Duration {
        // Doubled step by step: twice what is less than the maximum cannot overflow where the maximum is less than half of the longest duration, and nothing is
        // doubled that has reached it. More than 62 doublings of a nanosecond exceed any maximum in use.
        var bound = initial
        for _ in 0..<min(max(attempt, 0), 62) where bound < maximum { bound = bound < maximum / 2 ? bound * 2 : maximum }
        return bound
    }
}
