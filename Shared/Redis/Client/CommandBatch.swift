// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A collector for the results of commands that were issued together.
final class CommandBatch: Sendable {
    private struct State {
        var results: [Result<RedisValue, RedisError>?]
        var missing: Int
        var continuation: UnsafeContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
    }

    /// Records the result of one command. Called once for each index.
    func finished(_ index: Int, with result: Result<RedisValue, RedisError>) {
        let continuation = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.results[index] = result
            state.missing -= 1
            guard state.missing == 0 else { return nil }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }

    /// Submits the commands and waits for all results. The continuation is resumed once, because it is removed under
    /// the lock.
    nonisolated(nonsending) func results(
        of commands: [Command], submit: () -> Void
    ) async -> [Result<RedisValue, RedisError>] {
        await withTaskCancellationHandler {
            submit()
            await withUnsafeContinuation { continuation in
                let isComplete = state.withLock { state in
                    if state.missing > 0 { state.continuation = continuation }
                    return state.missing == 0
                }
                if isComplete { continuation.resume() }
            }
        } onCancel: {
            for command in commands { command.finish(.failure(.cancelled)) }
        }
        return state.withLock { state in state.results.map { $0 ?? .failure(.closed) } }
    }
}
