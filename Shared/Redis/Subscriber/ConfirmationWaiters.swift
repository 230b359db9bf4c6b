// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The waits for confirmations of channels. A wait succeeds when all of its channels are confirmed at the same time.
///
/// The waits are stored separately from the channels, so that a channel without a wait needs no extra memory.
struct ConfirmationWaiters {
    typealias ID = UInt64

    private struct Waiter {
        let channels: [String]
        var missing: Int
    }

    private var waiters: [ID: Waiter] = [:]
    private var byChannel: [String: [ID]] = [:]

    /// Adds a wait. The channels must be distinct; `missing` of them, at least one, are currently not confirmed.
    mutating func add(_ id: ID, channels: [String], missing: Int) {
        waiters[id] = Waiter(channels: channels, missing: missing)
        for channel in channels { byChannel[channel, default: []].append(id) }
    }

    /// Records the confirmation of a channel. Returns the satisfied waits.
    mutating func confirmed(_ channel: String) -> [ID] {
        guard let ids = byChannel[channel] else { return [] }
        var satisfied: [ID] = []
        for id in ids {
            waiters[id]?.missing -= 1
            if waiters[id]?.missing == 0 { satisfied.append(id) }
        }
        for id in satisfied { remove(id) }
        return satisfied
    }

    /// Records that a confirmed channel is no longer confirmed.
    mutating func lost(_ channel: String) {
        for id in byChannel[channel] ?? [] { waiters[id]?.missing += 1 }
    }

    /// Removes and returns the waits for a channel that is no longer wanted. They fail.
    mutating func abandoned(_ channel: String) -> [ID] {
        guard let ids = byChannel[channel] else { return [] }
        for id in ids { remove(id) }
        return ids
    }

    mutating func remove(_ id: ID) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        for channel in waiter.channels {
            byChannel[channel]?.removeAll { $0 == id }
            if byChannel[channel]?.isEmpty == true { byChannel[channel] = nil }
        }
    }
}

/// A caller's wait for confirmations. It is completed once, by the first of these events: confirmation, deadline,
/// cancellation or shutdown.
final class ConfirmationWait: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Result<Void, RedisError>, Never>)
        case finished(Result<Void, RedisError>)
    }

    let id: ConfirmationWaiters.ID
    let channels: [String]
    let deadline: ContinuousClock.Instant
    private let state = Mutex(State.idle)

    init(_ id: ConfirmationWaiters.ID, channels: [String], deadline: ContinuousClock.Instant) {
        self.id = id
        self.channels = channels
        self.deadline = deadline
    }

    var isFinished: Bool {
        state.withLock { state in
            if case .finished = state { true } else { false }
        }
    }

    /// Completes the wait unless it is already completed.
    func finish(_ result: Result<Void, RedisError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<Void, RedisError>, Never>? in
            switch state {
            case .finished: return nil
            case .idle:
                state = .finished(result)
                return nil
            case .waiting(let continuation):
                state = .finished(result)
                return continuation
            }
        }
        continuation?.resume(returning: result)
    }

    /// Waits for the result. `submit` is called when the caller waits, unless the wait is already completed. `withdraw`
    /// is called if the task is cancelled.
    nonisolated(nonsending) func result(
        submit: () -> Void, withdraw: @Sendable () -> Void
    ) async -> Result<Void, RedisError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early: Result<Void, RedisError>? = state.withLock { state in
                    if case .finished(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) } else { submit() }
            }
        } onCancel: {
            finish(.failure(.cancelled))
            withdraw()
        }
    }
}
