// SPDX-License-Identifier: Apache-2.0

/// An adaptive batch size. It doubles what fitted into the previous answer, so that few objects are read and discarded.
package struct BatchSize: Sendable {
    private var limit = Int.max

    package init() {}

    /// Returns the number of objects to request.
    /// - Parameter left: the number of objects that remain to be requested.
    package func count(of left: Int) -> Int { min(left, limit) }

    /// Adjusts the batch size after an answer with `count` of the `asked` objects.
    package mutating func adjust(received count: Int, requested asked: Int) {
        limit = max(1, count < asked || asked == limit ? 2 * count : limit)
    }
}
