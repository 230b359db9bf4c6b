// SPDX-License-Identifier: Apache-2.0

import NetKit

/// How long to wait before each attempt to open a socket.
///
/// The first attempt is made at once. Before each further one the client waits for a random part of a time that doubles up to ``longest``, so that clients
/// do not all return at the same moment after an outage.
struct ReconnectPolicy: Hashable, Sendable {
    /// The upper bound before the second attempt.
    var first = Duration.seconds(1)
    /// The upper bound before any attempt, unless the server asks for more.
    var longest = Duration.seconds(30)
    /// The least time before an attempt after the server has asked for a pause without saying how long.
    var pause = Duration.seconds(2)
    /// The longest time that the server can ask for; it also bounds the damage of an answer that is wrong.
    var longestAsked = Duration.seconds(300)
    /// A connection that lasted this long resets the count of attempts.
    var good = Duration.seconds(60)
    /// The number of attempts after which the client gives up; nil: it never gives up.
    var attempts: Int?

    /// The wait before an attempt.
    /// - Parameters:
    ///   - attempt: 1 for the first.
    ///   - reason: why there is no connection.
    ///   - random: from 0 up to 1.
    func delay(before attempt: Int, after reason: ConnectionFailure.Return, random: Double) -> Duration {
        let random = min(max(random, 0), 1)
        switch reason {
        case .now: return bound(before: attempt) * random
        case .later(nil): return min(pause + bound(before: max(attempt, 3)) * random, longest)
        case .later(let asked?): return min(max(asked, pause), longestAsked) + bound(before: max(attempt, 3)) * random
        }
    }

    private func bound(before attempt: Int) -> Duration {
        attempt > 1 ? Backoff(initial: first, maximum: longest).bound(attempt: attempt - 2) : .zero
    }
}
