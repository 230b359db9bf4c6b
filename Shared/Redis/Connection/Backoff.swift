// SPDX-License-Identifier: Apache-2.0

/// The pauses between attempts to connect: doubled each time, half of each random, so that the clients of a restarted server do not all come
/// back in the same instant.
struct Backoff: Sendable {
    let minimum: Duration
    let maximum: Duration
    private(set) var attempts = 0

    init(minimum: Duration, maximum: Duration) {
        self.minimum = max(minimum, .milliseconds(1))
        self.maximum = max(maximum, self.minimum)
    }

    /// The next pause; `jitter` is a random number in 0..<1.
    mutating func next(jitter: Double) -> Duration {
        let doubled = minimum * (1 << min(attempts, 20))
        attempts += 1
        let pause = min(doubled, maximum)
        return pause / 2 + pause / 2 * jitter
    }

    mutating func reset() { attempts = 0 }
}
