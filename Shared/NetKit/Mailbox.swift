// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What tasks leave for an event loop or an actor, in order.
///
/// The first item left since the last visit wakes the reader, all others ride along: what arrives within one tick of a loop is written with one flush.
///
/// What is held can be bounded. An item's cost counts from ``put(_:cost:)`` until ``release(_:)``, so also while the reader works on it.
public final class Mailbox<Item: Sendable>: Sendable {
    /// What an item takes of the bound.
    public struct Cost: Sendable, Equatable {
        /// Items, or whatever the owner counts.
        public var items: Int
        /// Bytes.
        public var bytes: Int

        /// A cost; without arguments nothing.
        @inlinable
        public init(items: Int = 0, bytes: Int = 0) {
            self.items = items
            self.bytes = bytes
        }

        /// No bound.
        public static var unlimited: Cost { Cost(items: .max, bytes: .max) }
    }

    /// What became of an item.
    public enum Put: Equatable, Sendable {
        /// The mailbox was empty: the caller wakes the reader.
        case wake
        /// The reader has been woken already.
        case queued
        /// No new items are taken; this one was not kept.
        case refused
        /// What is held would exceed the bound; the item was not kept.
        case full
    }

    @usableFromInline
    enum Phase: Sendable {
        case open
        /// No new work; what concerns work that is held still passes.
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
        mutating func put(_ item: Item, cost: Cost, limit: Cost) -> Put {
            guard phase == .open else { return .refused }
            // An item that is alone is taken whatever its cost, or it never would be.
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
        mutating func append(_ item: Item) -> Put {
            items.append(item)
            return items.count == 1 ? .wake : .queued
        }
    }

    @usableFromInline let state = Mutex(State())
    @usableFromInline let limit: Cost

    /// An empty mailbox.
    /// - Parameter limit: of what is held.
    @inlinable
    public init(limit: Cost = .unlimited) { self.limit = limit }

    /// Leaves new work.
    @inlinable
    @discardableResult
    public func put(_ item: Item, cost: Cost = Cost()) -> Put {
        state.withLock { $0.put(item, cost: cost, limit: limit) }
    }

    /// Leaves several items, with no other between them as far as they are taken.
    /// - Returns: whether the caller wakes the reader, and the items that were not kept, each as ``Put/refused`` or ``Put/full``.
    @inlinable
    public func put(contentsOf items: some Collection<Item>, cost: (Item) -> Cost) -> (wake: Bool, refused: [(item: Item, why: Put)]) {
        state.withLock { state in
            var (wake, refused) = (false, [(item: Item, why: Put)]())
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

    /// Leaves something about work that is held. It is taken while the mailbox drains, and has no cost.
    @inlinable
    public func putFollowUp(_ item: Item) -> Put {
        state.withLock { state in
            guard state.phase != .closed else { return .refused }
            return state.append(item)
        }
    }

    /// Empties the mailbox.
    /// - Parameter spare: an empty array whose storage is used next.
    @inlinable
    public func take(spare: [Item] = []) -> [Item] {
        state.withLock { state in
            var taken = spare
            swap(&taken, &state.items)
            return taken
        }
    }

    /// These costs do not count any more.
    /// - Returns: what is still held.
    @inlinable
    @discardableResult
    public func release(_ cost: Cost) -> Cost {
        state.withLock { state in
            state.held.items -= cost.items
            state.held.bytes -= cost.bytes
            return state.held
        }
    }

    /// The costs that count.
    public var held: Cost { state.withLock { $0.held } }

    /// How many items wait to be taken.
    public var waiting: Int { state.withLock { $0.items.count } }

    /// Whether new work is taken.
    public var isOpen: Bool { state.withLock { $0.phase == .open } }

    /// Refuses new work from now on.
    public func drain() {
        state.withLock { state in
            if state.phase == .open { state.phase = .draining }
        }
    }

    /// Refuses everything from now on, and returns the items not taken yet.
    public func close() -> [Item] {
        state.withLock { state in
            state.phase = .closed
            defer { state.items = [] }
            return state.items
        }
    }
}
