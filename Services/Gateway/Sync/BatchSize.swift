// SPDX-License-Identifier: Apache-2.0

/// How many objects to ask for, when each answer tells how many fitted: about twice as many as last time, for what is read and does not fit is read in vain.
package struct BatchSize: Sendable {
    private var limit = Int.max

    package init() {}

    /// - Parameter left: that could be asked for.
    package func count(of left: Int) -> Int { min(left, limit) }

    /// Of so many that were asked for, so many came.
    package mutating func came(_ count: Int, of asked: Int) { limit = max(1, count < asked || asked == limit ? 2 * count : limit) }
}
