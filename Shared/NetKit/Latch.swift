// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that comes later, once, and that any number of tasks may wait for.
public final class Latch<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// A value that is not there yet.
    public init() {}

    /// Sets the value and wakes all; a second result is ignored.
    public func settle(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.result == nil else { return [] }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// The value, when it is there. Throws what was settled, or `CancellationError` when the waiting task is cancelled.
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
                // Cancelled before the continuation was stored.
                state.cancelled.insert(id)
                return nil
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
