// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is set once and that any number of tasks can wait for.
public final class Latch<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// Creates a latch without a value.
    public init() {}

    /// Sets the result and resumes all waiting tasks. A second result is ignored.
    public func settle(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.result == nil else { return [] }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// Waits for the value and returns it. Throws the error that was set, or `CancellationError` if the waiting task is
    /// cancelled.
    public func value() async throws -> Value {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let early = state.withLock { state -> Result<Value, any Error>? in
                    if let result = state.result { return result }
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    state.waiters[id] = waiter
                    return nil
                }
                if let early { waiter.resume(with: early) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard state.result == nil else { return nil }
                if let waiter = state.waiters.removeValue(forKey: id) { return waiter }
                // The task was cancelled before its continuation was stored.
                state.cancelled.insert(id)
                return nil
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
