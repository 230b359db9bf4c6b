// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Where tasks leave commands for the event loop, and what bounds their number: it counts those waiting and those in flight.
final class CommandQueue: Sendable {
    private struct State {
        var waiting: [Command] = []
        var count = 0
        var bytes = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let limit: Int
    private let byteLimit: Int

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Takes commands, in order; those that do not fit are returned with the reason. `wake` says that the event loop must be told.
    func submit(_ commands: some Collection<Command>) -> (wake: Bool, refused: [(Command, RedisError)]) {
        state.withLock { state in
            let wasEmpty = state.waiting.isEmpty
            var refused: [(Command, RedisError)] = []
            for command in commands {
                if state.isClosed {
                    refused.append((command, .closed))
                } else if state.count >= limit || (state.count > 0 && state.bytes + command.cost > byteLimit) {
                    refused.append((command, .queueFull))
                } else {
                    state.count += 1
                    state.bytes += command.cost
                    state.waiting.append(command)
                }
            }
            return (wasEmpty && !state.waiting.isEmpty, refused)
        }
    }

    /// Hands over what waits, in exchange for an empty array with room for more.
    func take(into commands: inout [Command]) {
        commands.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.waiting, &commands) }
    }

    /// Commands that are not counted any more; returns what still is.
    @discardableResult
    func release(count: Int, bytes: Int) -> (count: Int, bytes: Int) {
        state.withLock { state in
            state.count -= count
            state.bytes -= bytes
            return (state.count, state.bytes)
        }
    }

    /// What waits or is in flight.
    var load: (count: Int, bytes: Int) { state.withLock { ($0.count, $0.bytes) } }

    func close() { state.withLock { $0.isClosed = true } }
}
