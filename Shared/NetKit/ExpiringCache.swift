// SPDX-License-Identifier: Apache-2.0

/// Values that are remembered for a while, bounded in number.
///
/// Two generations: new entries go into the young one; when that holds half of the capacity, the old one is dropped and the young one takes its
/// place. So nothing is ever searched for something to evict, and what is asked for often is simply loaded again now and then.
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

    /// An empty cache.
    @inlinable
    public init(capacity: Int) { generationLimit = max(1, capacity / 2) }

    /// Entries held, expired ones included: never more than the capacity.
    public var count: Int { young.count + old.count }

    /// The value of `key`, unless it has expired at `now`.
    @inlinable
    public func value(for key: Key, at now: ContinuousClock.Instant) -> Value? {
        guard let entry = young[key] ?? old[key], now < entry.expiry else { return nil }
        return entry.value
    }

    /// Remembers `value` until `expiry`.
    @inlinable
    public mutating func insert(_ value: Value, for key: Key, until expiry: ContinuousClock.Instant) {
        old[key] = nil
        if young[key] == nil, young.count >= generationLimit {
            old = young
            young = [:]
        }
        young[key] = Entry(value: value, expiry: expiry)
    }

    /// Forgets the value of `key`.
    @inlinable
    public mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }

    /// Forgets the values for which `condition` is true.
    public mutating func removeAll(where condition: (Value) -> Bool) {
        young = young.filter { !condition($0.value.value) }
        old = old.filter { !condition($0.value.value) }
    }
}
