// SPDX-License-Identifier: Apache-2.0

/// Exponential backoff with jitter.
///
/// The bound of the delay doubles with each attempt, up to a maximum. The delay is random, from half of the bound to
/// the whole bound. The jitter prevents many clients of a restarted server from reconnecting at the same moment.
public struct Backoff: Sendable, Hashable {
    /// The upper bound of the first delay.
    public let initial: Duration
    /// The upper bound of every delay.
    public let maximum: Duration
    /// The number of delays that ``next(random:)`` has returned since the last ``reset()``.
    public private(set) var attempts = 0

    /// Creates a backoff whose delays grow from `initial` to `maximum`.
    public init(initial: Duration, maximum: Duration) {
        self.initial = initial
        self.maximum = max(maximum, initial)
    }

    /// Returns the next delay.
    /// - Parameter random: A number from 0 to 1.
    public mutating func next(random: Double) -> Duration {
        defer { attempts += 1 }
        return delay(attempt: attempts, random: random)
    }

    /// Returns the next delay with a random jitter.
    public mutating func next() -> Duration { next(random: .random(in: 0..<1)) }

    /// Starts again with the first delay.
    public mutating func reset() { attempts = 0 }

    /// Returns the delay before an attempt, from half of ``bound(attempt:)`` to the whole.
    /// - Parameters:
    ///   - attempt: The number of the attempt; 0 is the first.
    ///   - random: A number from 0 to 1.
    public func delay(attempt: Int, random: Double) -> Duration {
        bound(attempt: attempt) * (0.5 + min(max(random, 0), 1) / 2)
    }

    /// Returns the upper bound of the delay before an attempt; 0 is the first attempt.
    public func bound(attempt: Int) -> Duration {
        // The loop doubles only while the bound is below half of the maximum, so the product cannot overflow. 62
        // doublings of a nanosecond exceed any maximum in use.
        var bound = initial
        for _ in 0..<min(max(attempt, 0), 62) where bound < maximum {
            bound = bound < maximum / 2 ? bound * 2 : maximum
        }
        return bound
    }
}
