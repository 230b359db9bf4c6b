// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Runs `work` for at most `limit`. Unfinished work is cancelled but not awaited: a task group would wait for work that
/// cannot be cancelled, such as a name look-up.
/// - Returns: nil if the work did not finish in time, or if this task was cancelled.
func within<Value: Sendable>(_ limit: Duration, _ work: @escaping @Sendable () async -> Value) async -> Value? {
    let race = Race<Value>()
    let worker = Task { race.end(with: await work()) }
    let timer = Task {
        if (try? await Task.sleep(for: limit)) != nil { race.end(with: nil) }
    }
    defer {
        worker.cancel()
        timer.cancel()
    }
    return await withTaskCancellationHandler {
        await race.outcome()
    } onCancel: {
        race.end(with: nil)
    }
}

/// A race between work, time limit and cancellation. The first result counts.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case running(CheckedContinuation<Value?, Never>?)
        case ended(Value?)
    }

    private let state = Mutex(State.running(nil))

    func end(with value: Value?) {
        let waiting = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            guard case .running(let waiting) = state else { return nil }
            state = .ended(value)
            return waiting
        }
        waiting?.resume(returning: value)
    }

    func outcome() async -> Value? {
        await withCheckedContinuation { continuation in
            let ended = state.withLock { state -> Value?? in
                if case .ended(let value) = state { return .some(value) }
                state = .running(continuation)
                return .none
            }
            if let ended { continuation.resume(returning: ended) }
        }
    }
}
