// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// So many bytes that may be held at once, of all who share it.
final class RPCByteBudget: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Bytes held now.
    var inUse: Int { taken.load(ordering: .relaxed) }

    /// False: they are too many beside those that are held. What is alone is taken whatever its size, or it never would be.
    /// - Parameter own: bytes that are held already, and belong to the same.
    func take(_ bytes: Int, beside own: Int = 0) -> Bool {
        let before = taken.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before == own || before + bytes <= limit else {
            give(bytes)
            return false
        }
        return true
    }

    /// Held although nobody was asked: work that is done already, and only has to leave.
    func add(_ bytes: Int) { taken.wrappingAdd(bytes, ordering: .relaxed) }

    /// They are not held any more.
    func give(_ bytes: Int) { taken.wrappingSubtract(bytes, ordering: .relaxed) }
}
