// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Wakes the one task that waits on it.
///
/// A signal that comes while no task waits is kept for the next wait. Several kept signals count as one, so the waiting task looks at all of its state
/// each time it wakes.
package final class Wakeup: Sendable {
    private enum State {
        case quiet
        case signalled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.quiet)

    package init() {}

    /// Wakes the task that waits, or the next one that does.
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

    /// Returns after a signal, or when the task is cancelled.
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
                // A cancellation before the line above found no waiter.
                if Task.isCancelled { release() }
            }
        } onCancel: {
            release()
        }
    }

    /// Returns after a signal, at the deadline, or when the task is cancelled.
    /// - Parameter deadline: nil: there is none.
    package func wait<C: Clock<Duration>>(until deadline: ContinuousClock.Instant?, clock: C) async
    where C.Instant == ContinuousClock.Instant {
        guard let deadline else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await clock.sleep(until: deadline, tolerance: nil) }
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
