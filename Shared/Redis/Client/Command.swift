// SPDX-License-Identifier: Apache-2.0

import NetKit
import Synchronization

/// A command and the caller that waits for its answer. It is finished once, by what comes first: answer, loss, deadline or cancellation.
///
/// A command that was finished before its answer came keeps its place in the connection's queue, so that the answer is recognised and dropped.
final class Command: Sendable {
    private enum Waiter {
        /// No caller yet.
        case none
        case continuation(UnsafeContinuation<Result<RedisValue, RedisError>, Never>)
        case batch(CommandBatch, index: Int)
        case finished(Result<RedisValue, RedisError>)
    }

    let arguments: [RedisArgument]
    /// Set if the arguments are those of EVALSHA, and may have to be sent as EVAL.
    let script: RedisScript?
    /// Any of the keys, to find the right server; nil if every server will do.
    let key: String?
    let deadline: ContinuousClock.Instant
    /// The size that counts towards the limit of the queue.
    let cost: Mailbox<Command>.Cost
    /// Whether a failure is to be counted as a dropped publish, because no caller learns of it.
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

    /// Ends the caller's wait; returns false if it was over already.
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

    /// Waits for the result. `submit` is called once the caller waits, unless the command is finished by then.
    ///
    /// The continuation is unsafe because the checked one costs as much as the rest of the wait; that it is resumed once follows from its being taken
    /// out of `waiter` under the lock.
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
