// SPDX-License-Identifier: Apache-2.0

/// The state machine of a callee's calls in flight on one connection. It also determines when the connection can close.
///
/// A call is *running* while its handler is awaited, and *answering* while a long response is being sent. It is removed
/// when it was answered, was cancelled or has expired. The results of handlers of removed calls are discarded.
struct RPCServerCallTable<Handler> {
    /// The action for a received request.
    enum Received: Equatable {
        /// Start a handler.
        case start
        /// The deadline passed before arrival. Send an error and do not start a handler.
        case expired
        /// The id belongs to an existing call. The peer is faulty.
        case duplicate
    }

    /// The action for the result of a handler.
    enum Finished: Equatable {
        case answer
        /// Discard the result, because the call was removed.
        case drop
    }

    private enum Call {
        case running(Handler?, deadline: ContinuousClock.Instant)
        case answering
    }

    private enum Drain {
        case no
        /// The peer was asked to send no more requests.
        case asked
        /// The peer has confirmed that it sends no more requests.
        case confirmed
    }

    private var calls: [UInt64: Call] = [:]
    private var drain = Drain.no
    /// A lower bound of the deadlines of all running calls.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    var count: Int { calls.count }

    /// True if the connection has no calls left and can close.
    var isDrained: Bool { drain == .confirmed && calls.isEmpty }

    mutating func requestReceived(
        _ id: UInt64, deadline: ContinuousClock.Instant, at now: ContinuousClock.Instant
    ) -> Received {
        guard calls[id] == nil else { return .duplicate }
        guard deadline > now else { return .expired }
        calls[id] = .running(nil, deadline: deadline)
        if let earliest = earliestDeadline {
            earliestDeadline = min(earliest, deadline)
        } else {
            earliestDeadline = deadline
        }
        return .start
    }

    /// Records the handler of a request that was just received.
    mutating func attached(toCall id: UInt64, handler: Handler) {
        guard case .running(nil, let deadline) = calls[id] else { return }
        calls[id] = .running(handler, deadline: deadline)
    }

    /// Records that the handler has returned.
    /// - Parameter isLong: true if the response needs several frames. Then ``sent(_:)`` follows.
    mutating func finished(_ id: UInt64, isLong: Bool) -> Finished {
        guard case .running = calls[id] else { return .drop }
        calls[id] = isLong ? .answering : nil
        return .answer
    }

    /// Records that the last frame of a long response was written.
    mutating func sent(_ id: UInt64) {
        guard case .answering = calls[id] else { return }
        calls[id] = nil
    }

    /// Removes a call that the caller cancelled. Returns the handler to cancel.
    mutating func cancelled(_ id: UInt64) -> Handler? {
        guard case .running(let handler, _) = calls.removeValue(forKey: id) else { return nil }
        return handler
    }

    /// Removes the running calls whose deadline has passed. For each, the caller sends an error and cancels the
    /// handler.
    mutating func expired(at now: ContinuousClock.Instant) -> [(id: UInt64, handler: Handler?)] {
        guard let earliest = earliestDeadline, earliest <= now else { return [] }
        var due: [(id: UInt64, handler: Handler?)] = []
        var next: ContinuousClock.Instant?
        for (id, call) in calls {
            guard case .running(let handler, let deadline) = call else { continue }
            if deadline <= now { due.append((id, handler)) } else { next = min(next ?? deadline, deadline) }
        }
        for (id, _) in due { calls[id] = nil }
        earliestDeadline = next
        return due
    }

    /// Records that the peer was asked to send no more requests. Returns false if it was asked before.
    mutating func drainAsked() -> Bool {
        guard drain == .no else { return false }
        drain = .asked
        return true
    }

    /// Records that the peer sends no more requests.
    mutating func drainConfirmed() {
        drain = .confirmed
    }

    /// Removes all calls after the connection was lost. Returns the handlers to cancel.
    mutating func closed() -> [Handler] {
        defer {
            calls = [:]
            earliestDeadline = nil
        }
        return calls.values.compactMap {
            guard case .running(let handler, _) = $0 else { return nil }
            return handler
        }
    }
}
