// SPDX-License-Identifier: Apache-2.0

/// Pauses between attempts to reconnect: they double up to a maximum, and each is shortened at random by up to a half, so that many processes do not
/// come back at the same moment.
struct Backoff: Sendable {
    private let minimum: Duration
    private let maximum: Duration
    private var failures = 0

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = maximum
    }

    mutating func reset() { failures = 0 }

    /// The next pause. `random` is from 0 to 1.
    mutating func next(random: Double) -> Duration {
        var pause = minimum
        for _ in 0..<min(failures, 32) where pause < maximum { pause = pause * 2 }
        failures += 1
        return min(pause, maximum) * (0.5 + 0.5 * min(max(random, 0), 1))
    }
}
