// SPDX-License-Identifier: Apache-2.0

/// A cache whose entries expire, with a bounded number of entries.
///
/// The cache has two generations. New entries go into the young one. When that holds half of the capacity, the old
/// generation is dropped and the young one replaces it. The cache therefore never searches for an entry to evict. A
/// frequently used entry is reloaded now and then.
public struct ExpiringCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let expiry: ContinuousClock.Instant

        @inlinable
        init(value: Value, expiry: ContinuousClock.Instant) {
            self.value = value
            self.expiry = expiry
        }
    }

    @usableFromInline let generationLimit: Int
    @usableFromInline var young: [Key: Entry] = [:]
    @usableFromInline var old: [Key: Entry] = [:]

    /// Creates an empty cache.
    @inlinable
    public init(capacity: Int) { generationLimit = max(1, capacity / 2) }

    /// The number of entries, including expired ones. Never exceeds the capacity.
    public var count: Int { young.count + old.count }

    /// Returns the value of `key`, or nil if there is none or it has expired at `now`.
    @inlinable
    public func value(for key: Key, at now: ContinuousClock.Instant) -> Value? {
        guard let entry = young[key] ?? old[key], now < entry.expiry else { return nil }
        return entry.value
    }

    /// Stores `value` until `expiry`.
    @inlinable
    public mutating func insert(_ value: Value, for key: Key, until expiry: ContinuousClock.Instant) {
        old[key] = nil
        if young[key] == nil, young.count >= generationLimit {
            old = young
            young = [:]
        }
        young[key] = Entry(value: value, expiry: expiry)
    }

    /// Removes the value of `key`.
    @inlinable
    public mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }

    /// Removes the values that satisfy `condition`.
    public mutating func removeAll(where condition: (Value) -> Bool) {
        young = young.filter { !condition($0.value.value) }
        old = old.filter { !condition($0.value.value) }
    }
}
