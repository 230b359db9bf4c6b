// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What tasks leave for an event loop: the first thing left since the last visit wakes the loop, all others ride along, so that whatever
/// arrives within one tick is written with one flush.
final class RPCMailbox<Item: Sendable>: Sendable {
    enum Put: Equatable {
        /// The mailbox was empty: the caller wakes the loop.
        case wake
        /// Somebody has woken the loop already.
        case queued
        /// Nobody will look into it again, or no new work is taken; the item was not kept.
        case refused
        /// The bytes that wait would exceed the bound; the item was not kept.
        case full
    }

    private enum Phase {
        case open
        /// No new work; whatever concerns work already there still passes.
        case draining
        case closed
    }

    private struct State {
        var phase = Phase.open
        var items: [Item] = []
        var bytes = 0
    }

    private let state = Mutex(State())

    /// Leaves new work.
    /// - Parameters:
    ///   - bytes: counted until ``released(bytes:)``.
    ///   - limit: bound on what is counted. An item that is alone is taken whatever its size.
    func put(_ item: Item, bytes: Int = 0, limit: Int = .max) -> Put {
        state.withLock { state in
            guard state.phase == .open else { return .refused }
            guard state.bytes == 0 || state.bytes + bytes <= limit else { return .full }
            state.bytes += bytes
            return RPCMailbox.append(item, &state)
        }
    }

    /// Leaves something about work that is already there.
    func putFollowUp(_ item: Item) -> Put {
        state.withLock { state in
            guard state.phase != .closed else { return .refused }
            return RPCMailbox.append(item, &state)
        }
    }

    private static func append(_ item: Item, _ state: inout State) -> Put {
        state.items.append(item)
        return state.items.count == 1 ? .wake : .queued
    }

    /// Empties the mailbox. `spare` is an empty array whose storage is used next.
    func take(spare: [Item] = []) -> [Item] {
        state.withLock { state in
            var taken = spare
            swap(&taken, &state.items)
            return taken
        }
    }

    /// What the socket has not taken yet.
    var bytes: Int { state.withLock { $0.bytes } }

    /// How many items wait.
    var count: Int { state.withLock { $0.items.count } }

    /// Whether nothing waits.
    var isEmpty: Bool { count == 0 }

    /// Whether new work is taken.
    var isOpen: Bool { state.withLock { $0.phase == .open } }

    /// The socket took these bytes.
    func released(bytes: Int) {
        state.withLock { $0.bytes -= bytes }
    }

    /// Refuses new work from now on.
    func drain() {
        state.withLock { state in
            if state.phase == .open { state.phase = .draining }
        }
    }

    /// Refuses everything from now on, and returns what nobody has taken.
    func close() -> [Item] {
        state.withLock { state in
            state.phase = .closed
            defer { state.items = [] }
            return state.items
        }
    }
}
