// SPDX-License-Identifier: Apache-2.0

/// The calls in flight on one connection, seen by the callee, and whether the connection may close: a pure state machine.
///
/// A call is *running* while its handler is awaited, *answering* while a long answer is on its way, and gone when it was answered, was
/// cancelled or has expired. What the handler of a call that is gone returns is dropped.
struct RPCServerCallTable<Handler> {
    enum Received: Equatable {
        case start
        /// Its time was over before it arrived: answer that, start nothing.
        case expired
        /// The id belongs to a call that is still here: a broken peer.
        case duplicate
    }

    enum Finished: Equatable {
        case answer
        case drop
    }

    private enum Call {
        case running(Handler?, deadline: ContinuousClock.Instant)
        case answering
    }

    private enum Drain {
        case no
        /// The peer was asked to send nothing more.
        case asked
        /// It will not.
        case confirmed
    }

    private var calls: [UInt64: Call] = [:]
    private var drain = Drain.no
    /// No running call's deadline is earlier.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    var count: Int { calls.count }

    /// Whether the connection has nothing left to do.
    var isDrained: Bool { drain == .confirmed && calls.isEmpty }

    mutating func requestReceived(_ id: UInt64, deadline: ContinuousClock.Instant, at now: ContinuousClock.Instant) -> Received {
        guard calls[id] == nil else { return .duplicate }
        guard deadline > now else { return .expired }
        calls[id] = .running(nil, deadline: deadline)
        if let earliest = earliestDeadline { earliestDeadline = min(earliest, deadline) } else { earliestDeadline = deadline }
        return .start
    }

    /// The handler of a request that was just received is running.
    mutating func attached(toCall id: UInt64, handler: Handler) {
        guard case .running(nil, let deadline) = calls[id] else { return }
        calls[id] = .running(handler, deadline: deadline)
    }

    /// The handler has returned.
    /// - Parameter isLong: whether its answer will take several frames; ``sent(_:)`` follows then.
    mutating func finished(_ id: UInt64, isLong: Bool) -> Finished {
        guard case .running = calls[id] else { return .drop }
        calls[id] = isLong ? .answering : nil
        return .answer
    }

    /// The last frame of a long answer was written.
    mutating func sent(_ id: UInt64) {
        guard case .answering = calls[id] else { return }
        calls[id] = nil
    }

    /// The caller does not wait any more. Returns the handler to cancel.
    mutating func cancelled(_ id: UInt64) -> Handler? {
        guard case .running(let handler, _) = calls.removeValue(forKey: id) else { return nil }
        return handler
    }

    /// Removes the running calls whose deadline has come: answer each, and cancel its handler.
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

    /// The peer is asked to send no more requests. False: it was asked before.
    mutating func drainAsked() -> Bool {
        guard drain == .no else { return false }
        drain = .asked
        return true
    }

    /// The peer sends no more requests.
    mutating func drainConfirmed() {
        drain = .confirmed
    }

    /// The connection is gone. Returns the handlers to cancel: no caller waits for them.
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
