// SPDX-License-Identifier: Apache-2.0
import DequeModule

/// A fair queue of waiters, grouped by key. The key with the lowest cost is next; keys with equal costs alternate,
/// regardless of their numbers of waiters.
///
/// The queue is a plain value without clock, lock, or task. A waiter leaves it exactly once.
struct TurnQueue<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    /// The maximum number of turns at the same time.
    let limit: Int
    private(set) var running = 0
    private(set) var waiting = 0
    private var waiters: [Key: Deque<(id: UInt64, waiter: Waiter)>] = [:]
    /// The keys with waiters. The first has waited longest for its turn.
    private var order: Deque<Key> = []

    init(limit: Int) { self.limit = limit }

    /// Begins a turn if one is free. Otherwise returns false, and the caller calls ``wait(_:id:waiter:)``.
    mutating func begin() -> Bool {
        guard running < limit else { return false }
        running += 1
        return true
    }

    mutating func wait(_ key: Key, id: UInt64, waiter: Waiter) {
        if waiters[key, default: []].isEmpty { order.append(key) }
        waiters[key, default: []].append((id, waiter))
        waiting += 1
    }

    /// Ends a turn and begins that of the next waiter.
    /// - Parameter cost: returns the previous usage of a key. The key with the lowest cost is next; keys with equal
    ///   costs alternate.
    /// - Returns: the waiter whose turn begins, if any.
    mutating func end(cost: (Key) -> Int = { _ in 0 }) -> Waiter? {
        let costs = order.map(cost)
        guard let index = costs.indices.min(by: { costs[$0] < costs[$1] }), let next = waiters[order[index]]?.popFirst()
        else {
            running -= 1
            return nil
        }
        let key = order.remove(at: index)
        // A key with more waiters goes to the end, behind all other keys.
        if waiters[key]?.isEmpty == true { waiters[key] = nil } else { order.append(key) }
        waiting -= 1
        return next.waiter
    }

    /// Removes a waiter that no longer waits.
    /// - Returns: the waiter, or nil if it has already left.
    mutating func giveUp(_ key: Key, id: UInt64) -> Waiter? {
        guard let index = waiters[key]?.firstIndex(where: { $0.id == id }),
            let waiter = waiters[key]?.remove(at: index).waiter
        else { return nil }
        waiting -= 1
        if waiters[key]?.isEmpty == true {
            waiters[key] = nil
            order.removeAll { $0 == key }
        }
        return waiter
    }
}
