// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A signal that ends a pause early.
final class WakeUp: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the current pause, or the next one if none is running.
    func signal() {
        let waiting = state.withLock { state in
            state.isSignalled = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits for a signal, a timeout, or the cancellation of the task. Only one task may wait at a time.
    func wait(atMost limit: Duration) async {
        // A cancelled timer must not signal, because that would end the next pause.
        let timer = Task {
            if (try? await Task.sleep(for: limit)) != nil { self.signal() }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSignalled = state.withLock { state in
                    if !state.isSignalled { state.waiting = continuation }
                    return state.isSignalled
                }
                if isSignalled { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
        state.withLock { $0.isSignalled = false }
        timer.cancel()
    }
}
