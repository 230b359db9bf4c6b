// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A number of bytes that may be held at once by all that share the budget.
public final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    /// A budget of which nothing is taken.
    public init(limit: Int) { self.limit = limit }

    /// Bytes held now.
    public var inUse: Int { taken.load(ordering: .relaxed) }

    /// Takes bytes. False: they are too many beside those that are held. Bytes that are alone are taken whatever their number, or they never would be.
    /// - Parameter own: bytes that are held already for the same thing.
    public func take(_ bytes: Int, beside own: Int = 0) -> Bool {
        let before = taken.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before == own || before + bytes <= limit else {
            give(bytes)
            return false
        }
        return true
    }

    /// Takes bytes without asking for room: for work that is done already and only has to leave.
    public func add(_ bytes: Int) { taken.wrappingAdd(bytes, ordering: .relaxed) }

    /// Gives bytes back.
    public func give(_ bytes: Int) { taken.wrappingSubtract(bytes, ordering: .relaxed) }
}
