// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Does `work` for at most so long. What is not done by then is cancelled and not waited for: a task group would wait for what cannot be cancelled, such as a
/// name that is looked up.
/// - Returns: nil if it was not done in time, or this task was cancelled meanwhile.
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

/// What ends first decides.
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
