// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that tasks can wait on. After each change, each waiting task evaluates its condition under the lock.
package final class ObservedState<State: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let id: UInt64
        /// Evaluates the condition. Returns a closure that resumes the waiting task, or nil if the condition is not
        /// met.
        let condition: @Sendable (inout State) -> (@Sendable () -> Void)?
        let giveUp: @Sendable () -> Void
    }

    private struct Inner: Sendable {
        var state: State
        var waiters: [Waiter] = []
        var nextID: UInt64 = 0
    }

    private let inner: Mutex<Inner>

    package init(_ state: State) {
        inner = Mutex(Inner(state: state))
    }

    /// Reads or changes the value, and resumes the tasks whose condition is now met.
    package func change<Answer: Sendable>(_ body: (inout State) -> Answer) -> Answer {
        let (answer, resumptions) = inner.withLock { inner in
            let answer = body(&inner.state)
            let waiting = inner.waiters
            inner.waiters = []
            var resumptions: [@Sendable () -> Void] = []
            for waiter in waiting {
                if let resume = waiter.condition(&inner.state) {
                    resumptions.append(resume)
                } else {
                    inner.waiters.append(waiter)
                }
            }
            return (answer, resumptions)
        }
        for resume in resumptions { resume() }
        return answer
    }

    /// Waits until `condition` returns a value, and returns that value.
    /// - Parameter limit: The timeout. After it, and on cancellation, the result is nil.
    package func first<Answer: Sendable>(
        within limit: Duration, _ condition: @escaping @Sendable (inout State) -> Answer?
    ) async -> Answer? {
        let deadline = ContinuousClock.now + limit
        let id = inner.withLock { inner in
            inner.nextID += 1
            return inner.nextID
        }
        let timer = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            giveUp(id)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Answer?, Never>) in
                begin(Self.waiter(id: id, condition: condition, continuation: continuation), until: deadline)?()
            }
        } onCancel: {
            giveUp(id)
        }
    }

    private static func waiter<Answer: Sendable>(
        id: UInt64, condition: @escaping @Sendable (inout State) -> Answer?,
        continuation: CheckedContinuation<Answer?, Never>
    ) -> Waiter {
        Waiter(
            id: id,
            condition: { (state: inout State) -> (@Sendable () -> Void)? in
                guard let answer = condition(&state) else { return nil }
                return { continuation.resume(returning: answer) }
            },
            giveUp: { continuation.resume(returning: nil) })
    }

    /// Registers a waiter, or returns a closure that resumes it at once if it need not wait.
    private func begin(_ waiter: Waiter, until deadline: ContinuousClock.Instant) -> (@Sendable () -> Void)? {
        inner.withLock { inner in
            if let resume = waiter.condition(&inner.state) { return resume }
            // The timeout or the cancellation may have occurred before the registration.
            if Task.isCancelled || ContinuousClock.now >= deadline { return waiter.giveUp }
            inner.waiters.append(waiter)
            return nil
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = inner.withLock { inner in
            inner.waiters.firstIndex { $0.id == id }.map { inner.waiters.remove(at: $0) }
        }
        waiter?.giveUp()
    }
}
