// SPDX-License-Identifier: Apache-2.0
import DequeModule

/// A queue of waiters by key: the key that has had least is next, and keys that have had the same come in turn, however many of their own wait.
///
/// A value without clock, lock or task; a waiter leaves it exactly once.
struct TurnQueue<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    /// Turns at one time.
    let limit: Int
    private(set) var running = 0
    private(set) var waiting = 0
    private var waiters: [Key: Deque<(id: UInt64, waiter: Waiter)>] = [:]
    /// Keys that wait, the one whose turn is next first.
    private var order: Deque<Key> = []

    init(limit: Int) { self.limit = limit }

    /// Whether a turn begins at once; if not, the caller waits with ``wait(_:id:waiter:)``.
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

    /// A turn has ended.
    /// - Parameter cost: what a key has had so far. The key with the lowest cost is next; keys with the same cost come in turn.
    /// - Returns: the one whose turn begins by that.
    mutating func end(cost: (Key) -> Int = { _ in 0 }) -> Waiter? {
        let costs = order.map(cost)
        guard let index = costs.indices.min(by: { costs[$0] < costs[$1] }), let next = waiters[order[index]]?.popFirst() else {
            running -= 1
            return nil
        }
        let key = order.remove(at: index)
        // A key with more waiters comes again after all other keys.
        if waiters[key]?.isEmpty == true { waiters[key] = nil } else { order.append(key) }
        waiting -= 1
        return next.waiter
    }

    /// Does not wait any more.
    /// - Returns: the waiter, unless it has left already.
    mutating func giveUp(_ key: Key, id: UInt64) -> Waiter? {
        guard let index = waiters[key]?.firstIndex(where: { $0.id == id }), let waiter = waiters[key]?.remove(at: index).waiter else { return nil }
        waiting -= 1
        if waiters[key]?.isEmpty == true {
            waiters[key] = nil
            order.removeAll { $0 == key }
        }
        return waiter
    }
}
