// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A shared limit for the bytes held in memory for one purpose.
public final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    /// Creates an empty budget of `limit` bytes.
    public init(limit: Int) { self.limit = limit }

    /// Bytes currently held.
    public var inUse: Int { taken.load(ordering: .relaxed) }

    /// Reserves bytes. Returns false if they would exceed the limit. A single large reservation is admitted if nothing
    /// else is held; otherwise it could never be admitted.
    /// - Parameter own: Bytes that the caller already holds for the same item.
    public func reserve(_ bytes: Int, beside own: Int = 0) -> Bool {
        let before = taken.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before == own || before + bytes <= limit else {
            release(bytes)
            return false
        }
        return true
    }

    /// Adds bytes without checking the limit, for finished work that only has to be sent.
    public func add(_ bytes: Int) { taken.wrappingAdd(bytes, ordering: .relaxed) }

    /// Releases bytes.
    public func release(_ bytes: Int) { taken.wrappingSubtract(bytes, ordering: .relaxed) }
}
