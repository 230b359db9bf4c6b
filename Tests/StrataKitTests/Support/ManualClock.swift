// SPDX-License-Identifier: Apache-2.0
import Synchronization

@testable import StrataKit

/// A clock that a test advances manually.
final class ManualClock: MonotonicClock {
    typealias Instant = ContinuousClock.Instant

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var sleepers: [Int: Sleeper] = [:]
        var lastID = 0
    }

    let start: Instant
    private let state: Mutex<State>
    private let (sleepStream, sleepContinuation) = AsyncStream.makeStream(of: Instant.self)

    init() {
        let start = ContinuousClock.now
        self.start = start
        state = Mutex(State(now: start))
    }

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    /// Advances the clock, and wakes all sleepers that are due.
    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until a task sleeps until this instant.
    func waitForSleep(until deadline: Instant) async {
        for await other in sleepStream where other == deadline { return }
    }

    func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isDue = state.withLock { state in
                    if deadline <= state.now { return true }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return false
                }
                if isDue { return continuation.resume() }
                sleepContinuation.yield(deadline)
                if Task.isCancelled { wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: Int) {
        state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
}

extension ContinuousClock.Instant {
    /// Returns the instant that follows by a number of seconds, with nanosecond precision.
    static func + (instant: Self, seconds: Double) -> Self { instant + .nanoseconds(Int64((seconds * 1e9).rounded())) }
}
