// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The delays between attempts to open a socket.
///
/// The first attempt is immediate. Each later one waits for a random fraction of a bound that doubles up to
/// ``longest``. The jitter prevents all clients from reconnecting at the same moment after an outage.
struct ReconnectPolicy: Hashable, Sendable {
    /// The upper bound of the delay before the second attempt.
    var first = Duration.seconds(1)
    /// The upper bound of the delay before any attempt, unless the server requests a longer one.
    var longest = Duration.seconds(30)
    /// The minimum delay if the server requested a pause without a duration.
    var pause = Duration.seconds(2)
    /// The maximum delay that the server can request. It limits the damage of a wrong answer.
    var maximumRequestedDelay = Duration.seconds(300)
    /// The duration after which a connection counts as stable and resets the attempt counter.
    var stableDuration = Duration.seconds(60)
    /// The number of attempts after which the client gives up; nil: unlimited.
    var attempts: Int?

    /// Returns the delay before an attempt.
    /// - Parameters:
    ///   - attempt: counted from 1.
    ///   - random: a random number in 0..<1.
    func delay(before attempt: Int, after reason: ConnectionFailure.ReconnectDelay, random: Double) -> Duration {
        let random = min(max(random, 0), 1)
        switch reason {
        case .now: return bound(before: attempt) * random
        case .later(nil): return min(pause + bound(before: max(attempt, 3)) * random, longest)
        case .later(let requested?):
            return min(max(requested, pause), maximumRequestedDelay) + bound(before: max(attempt, 3)) * random
        }
    }

    private func bound(before attempt: Int) -> Duration {
        attempt > 1 ? Backoff(initial: first, maximum: longest).bound(attempt: attempt - 2) : .zero
    }
}
