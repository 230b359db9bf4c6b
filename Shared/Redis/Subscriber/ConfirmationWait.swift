// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A caller's wait for confirmations. It is completed once, by the first of these events: confirmation, deadline,
/// cancellation or shutdown.
final class ConfirmationWait: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Result<Void, RedisError>, Never>)
        case finished(Result<Void, RedisError>)
    }

    let id: ConfirmationWaiters.ID
    let channels: [String]
    let deadline: ContinuousClock.Instant
    private let state = Mutex(State.idle)

    init(_ id: ConfirmationWaiters.ID, channels: [String], deadline: ContinuousClock.Instant) {
        self.id = id
        self.channels = channels
        self.deadline = deadline
    }

    var isFinished: Bool {
        state.withLock { state in
            if case .finished = state { true } else { false }
        }
    }

    /// Completes the wait unless it is already completed.
    func finish(_ result: Result<Void, RedisError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<Void, RedisError>, Never>? in
            switch state {
            case .finished: return nil
            case .idle:
                state = .finished(result)
                return nil
            case .waiting(let continuation):
                state = .finished(result)
                return continuation
            }
        }
        continuation?.resume(returning: result)
    }

    /// Waits for the result. `submit` is called when the caller waits, unless the wait is already completed. `withdraw`
    /// is called if the task is cancelled.
    nonisolated(nonsending) func result(
        submit: () -> Void, withdraw: @Sendable () -> Void
    ) async -> Result<Void, RedisError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early: Result<Void, RedisError>? = state.withLock { state in
                    if case .finished(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) } else { submit() }
            }
        } onCancel: {
            finish(.failure(.cancelled))
            withdraw()
        }
    }
}
