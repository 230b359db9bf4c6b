// SPDX-License-Identifier: Apache-2.0
import NetKit
import Synchronization

/// A command and the caller that waits for its response. It is completed once, by the first of these events: response,
/// connection loss, deadline or cancellation.
///
/// A command that is completed before its response arrives keeps its place in the pipeline, so that the response is
/// recognised and discarded.
final class Command: Sendable {
    private enum Waiter {
        /// No caller waits yet.
        case none
        case continuation(UnsafeContinuation<Result<RedisValue, RedisError>, Never>)
        case batch(CommandBatch, index: Int)
        case finished(Result<RedisValue, RedisError>)
    }

    let arguments: [RedisArgument]
    /// The script if the arguments are those of EVALSHA, in case it must be sent with EVAL.
    let script: RedisScript?
    /// One of the keys, which determines the server; nil if any server can run the command.
    let key: String?
    let deadline: ContinuousClock.Instant
    /// The cost with regard to the queue's limits.
    let cost: Mailbox<Command>.Cost
    /// True if no caller receives the result, so that a failure is counted as a dropped publish.
    let isFireAndForget: Bool
    private let waiter: Mutex<Waiter>

    init(
        _ arguments: [RedisArgument], script: RedisScript? = nil, key: String?, deadline: ContinuousClock.Instant,
        isFireAndForget: Bool = false, batch: (CommandBatch, index: Int)? = nil
    ) {
        self.arguments = arguments
        self.script = script
        self.key = key
        self.deadline = deadline
        self.isFireAndForget = isFireAndForget
        cost = .init(items: 1, bytes: arguments.reduce(16) { $0 + $1.cost })
        waiter = Mutex(batch.map { .batch($0.0, index: $0.index) } ?? .none)
    }

    var isFinished: Bool {
        waiter.withLock { waiter in
            if case .finished = waiter { true } else { false }
        }
    }

    /// Completes the command. Returns false if it was already completed.
    @discardableResult
    func finish(_ result: Result<RedisValue, RedisError>) -> Bool {
        let previous = waiter.withLock { waiter in
            let previous = waiter
            if case .finished = previous { return previous }
            waiter = .finished(result)
            return previous
        }
        switch previous {
        case .finished: return false
        case .none: return true
        case .continuation(let continuation): continuation.resume(returning: result)
        case .batch(let batch, let index): batch.finished(index, with: result)
        }
        return true
    }

    /// Waits for the result. `submit` is called when the caller waits, unless the command is already completed.
    ///
    /// The continuation is unsafe because a checked one costs as much as the rest of the wait. It is resumed exactly
    /// once because it is removed from `waiter` under the lock.
    nonisolated(nonsending) func result(submit: () -> Void) async -> Result<RedisValue, RedisError> {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let early: Result<RedisValue, RedisError>? = waiter.withLock { waiter in
                    if case .finished(let result) = waiter { return result }
                    waiter = .continuation(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) } else { submit() }
            }
        } onCancel: {
            finish(.failure(.cancelled))
        }
    }
}

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
