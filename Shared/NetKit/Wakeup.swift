// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A signal for a single waiting task.
///
/// A signal without a waiting task is kept for the next wait. Several kept signals count as one, so the task must check
/// all of its state after each wake-up.
package final class Wakeup: Sendable {
    private enum State {
        case quiet
        case signalled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.quiet)

    package init() {}

    /// Wakes the waiting task, or lets the next wait return immediately.
    package func signal() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let waiter) = state else {
                state = .signalled
                return nil
            }
            state = .quiet
            return waiter
        }
        waiter?.resume()
    }

    /// Waits for a signal, or until the task is cancelled.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if case .signalled = state {
                        state = .quiet
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isDone { return continuation.resume() }
                // The cancellation handler may have run before the continuation was stored.
                if Task.isCancelled { release() }
            }
        } onCancel: {
            release()
        }
    }

    /// Waits for a signal, until the deadline, or until the task is cancelled.
    /// - Parameters:
    ///   - deadline: nil: none.
    ///   - sleep: suspends the task until a deadline or its cancellation.
    package func wait(
        until deadline: ContinuousClock.Instant?,
        sleep: @escaping @Sendable (ContinuousClock.Instant) async -> Void = { try? await Task.sleep(until: $0) }
    ) async {
        guard let deadline else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { await sleep(deadline) }
            await group.next()
            group.cancelAll()
        }
    }

    private func release() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let waiter) = state else { return nil }
            state = .quiet
            return waiter
        }
        waiter?.resume()
    }
}
