// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A multicast stream. Every subscriber receives each value, in order. Values that a slow subscriber has not read yet
/// are buffered without a limit.
final class Broadcaster<Value: Sendable>: Sendable {
    private struct State {
        var nextID = 0
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Returns a stream of all values sent after this call. The stream ends when the broadcaster finishes or the
    /// subscribing task ends.
    func subscribe() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        let id = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.subscribers[id] = nil } }
        return stream
    }

    var count: Int { state.withLock { $0.subscribers.count } }

    func send(_ value: Value) {
        let subscribers = state.withLock { $0.subscribers.sorted { $0.key < $1.key }.map(\.value) }
        for subscriber in subscribers { subscriber.yield(value) }
    }

    func finish() {
        let subscribers = state.withLock { state in
            defer { state.subscribers = [:] }
            state.isFinished = true
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}
