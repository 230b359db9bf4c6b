// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A queue through which tasks pass items to an event loop or an actor, in order.
///
/// The first item since the last visit wakes the reader; later items do not. Items that arrive within one tick of an
/// event loop are therefore written with one flush.
///
/// The queue can be bounded. An item's cost counts from ``put(_:cost:)`` until ``release(_:)``, and therefore also
/// while the reader processes the item.
public final class Mailbox<Item: Sendable>: Sendable {
    /// The share of the limit that an item uses.
    public struct Cost: Sendable, Equatable {
        /// The number of items, or of another unit that the owner counts.
        public var items: Int
        /// The number of bytes.
        public var bytes: Int

        /// Creates a cost; without arguments it is zero.
        @inlinable
        public init(items: Int = 0, bytes: Int = 0) {
            self.items = items
            self.bytes = bytes
        }

        /// A cost that no mailbox exceeds.
        public static var unlimited: Cost { Cost(items: .max, bytes: .max) }
    }

    /// The result of adding an item.
    public enum PutResult: Equatable, Sendable {
        /// The item was added to an empty mailbox. The caller must wake the reader.
        case wake
        /// The item was added. The reader has already been woken.
        case queued
        /// The item was rejected because the mailbox is draining or closed.
        case refused
        /// The item was rejected because it would exceed the limit.
        case full
    }

    @usableFromInline
    enum Phase: Sendable {
        case open
        /// New work is rejected. Follow-ups to pending work are still accepted.
        case draining
        case closed
    }

    @usableFromInline
    struct State: Sendable {
        @usableFromInline var phase = Phase.open
        @usableFromInline var items: [Item] = []
        @usableFromInline var held = Cost()

        @inlinable
        init() {}

        @inlinable
        mutating func put(_ item: Item, cost: Cost, limit: Cost) -> PutResult {
            guard phase == .open else { return .refused }
            // A single item is accepted whatever its cost; otherwise it could never be accepted.
            guard held == Cost() || fits(cost, within: limit) else { return .full }
            held.items += cost.items
            held.bytes += cost.bytes
            return append(item)
        }

        @inlinable
        func fits(_ cost: Cost, within limit: Cost) -> Bool {
            cost.items <= limit.items - held.items && cost.bytes <= limit.bytes - held.bytes
        }

        @inlinable
        mutating func append(_ item: Item) -> PutResult {
            items.append(item)
            return items.count == 1 ? .wake : .queued
        }
    }

    @usableFromInline let state = Mutex(State())
    @usableFromInline let limit: Cost

    /// Creates an empty mailbox.
    /// - Parameter limit: The maximum total cost of the items.
    @inlinable
    public init(limit: Cost = .unlimited) { self.limit = limit }

    /// Adds new work.
    @inlinable
    @discardableResult
    public func put(_ item: Item, cost: Cost = Cost()) -> PutResult {
        state.withLock { $0.put(item, cost: cost, limit: limit) }
    }

    /// Adds several items under one lock, so that no other item comes between them.
    /// - Returns: True if the caller must wake the reader, and the rejected items, each with ``PutResult/refused`` or
    ///   ``PutResult/full``.
    @inlinable
    public func put(
        contentsOf items: some Collection<Item>, cost: (Item) -> Cost
    ) -> (wake: Bool, refused: [(item: Item, why: PutResult)]) {
        state.withLock { state in
            var (wake, refused) = (false, [(item: Item, why: PutResult)]())
            for item in items {
                switch state.put(item, cost: cost(item), limit: limit) {
                case .wake: wake = true
                case .queued: break
                case let why: refused.append((item, why))
                }
            }
            return (wake, refused)
        }
    }

    /// Adds a follow-up to pending work. It is accepted while the mailbox drains, and has no cost.
    @inlinable
    public func putFollowUp(_ item: Item) -> PutResult {
        state.withLock { state in
            guard state.phase != .closed else { return .refused }
            return state.append(item)
        }
    }

    /// Removes and returns all items.
    /// - Parameter spare: An empty array whose storage the mailbox reuses.
    @inlinable
    public func take(spare: [Item] = []) -> [Item] {
        state.withLock { state in
            var taken = spare
            swap(&taken, &state.items)
            return taken
        }
    }

    /// Releases the cost of processed items.
    /// - Returns: The remaining cost.
    @inlinable
    @discardableResult
    public func release(_ cost: Cost) -> Cost {
        state.withLock { state in
            state.held.items -= cost.items
            state.held.bytes -= cost.bytes
            return state.held
        }
    }

    /// The total cost of the items that have not been released.
    public var held: Cost { state.withLock { $0.held } }

    /// The number of items in the mailbox.
    public var waiting: Int { state.withLock { $0.items.count } }

    /// True if the mailbox accepts new work.
    public var isOpen: Bool { state.withLock { $0.phase == .open } }

    /// Rejects new work from now on.
    public func drain() {
        state.withLock { state in
            if state.phase == .open { state.phase = .draining }
        }
    }

    /// Rejects all items from now on, and returns the items not taken yet.
    public func close() -> [Item] {
        state.withLock { state in
            state.phase = .closed
            defer { state.items = [] }
            return state.items
        }
    }
}
