// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// The calls in flight on one connection, seen by the caller: a pure state machine.
///
/// Every token that enters leaves exactly once, in a ``Completion``, whatever happens in which order; frames about calls that have left are
/// ignored, since an answer may cross a cancellation.
struct RPCCallTable<Token> {
    struct Completion {
        var token: Token
        var result: Result<ByteBuffer, RPCError>
    }

    /// What to do after a frame or an event about one call.
    enum Action {
        case none
        case complete(Completion)
        /// Complete, and tell the callee that the caller does not wait any more.
        case completeAndCancel(Completion)
    }

    private struct Call {
        var token: Token
        var deadline: ContinuousClock.Instant
        var parts: ByteBuffer?
    }

    private let maxAnswerBytes: Int
    /// What has come of long answers counts here until they are whole, together with those of other connections.
    private let arriving: ByteBudget
    private var calls: [UInt64: Call] = [:]
    /// No call's deadline is earlier. It may be one of a call that has left, since finding the next would cost more than a needless look.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    init(maxAnswerBytes: Int, arriving: ByteBudget = ByteBudget(limit: .max)) {
        self.maxAnswerBytes = maxAnswerBytes
        self.arriving = arriving
    }

    var isEmpty: Bool { calls.isEmpty }
    var count: Int { calls.count }

    /// A request is about to be written. False: the id is in use, nothing was kept.
    mutating func started(_ id: UInt64, token: Token, deadline: ContinuousClock.Instant) -> Bool {
        guard calls[id] == nil else { return false }
        calls[id] = Call(token: token, deadline: deadline)
        if let earliest = earliestDeadline { earliestDeadline = min(earliest, deadline) } else { earliestDeadline = deadline }
        return true
    }

    /// The call leaves, and what has come of its answer is not counted any more.
    private mutating func remove(_ id: UInt64) -> Call? {
        guard let call = calls.removeValue(forKey: id) else { return nil }
        forget(call)
        return call
    }

    private func forget(_ call: Call) {
        if let parts = call.parts { arriving.give(parts.readableBytes) }
    }

    mutating func answered(_ id: UInt64, with payload: ByteBuffer) -> Action {
        guard var call = remove(id) else { return .none }
        guard var whole = call.parts.take() else {
            guard payload.readableBytes <= maxAnswerBytes else { return .complete(Completion(token: call.token, result: .failure(.answerTooLarge))) }
            return .complete(Completion(token: call.token, result: .success(payload)))
        }
        guard whole.readableBytes + payload.readableBytes <= maxAnswerBytes else {
            return .complete(Completion(token: call.token, result: .failure(.answerTooLarge)))
        }
        whole.writeImmutableBuffer(payload)
        return .complete(Completion(token: call.token, result: .success(whole)))
    }

    /// A piece of a long answer; at least one more follows.
    mutating func partAnswered(_ id: UInt64, with payload: ByteBuffer) -> Action {
        // Taken out while it grows: a buffer that is still in the dictionary would be copied at every piece.
        guard var call = calls.removeValue(forKey: id) else { return .none }
        var whole = call.parts.take() ?? ByteBuffer()
        let isTooLarge = whole.readableBytes + payload.readableBytes > maxAnswerBytes
        guard !isTooLarge, arriving.take(payload.readableBytes, beside: whole.readableBytes) else {
            arriving.give(whole.readableBytes)
            return .completeAndCancel(Completion(token: call.token, result: .failure(isTooLarge ? .answerTooLarge : .overloaded)))
        }
        whole.writeImmutableBuffer(payload)
        call.parts = whole
        calls[id] = call
        return .none
    }

    mutating func failed(_ id: UInt64, error: RPCError) -> Action {
        guard let call = remove(id) else { return .none }
        return .complete(Completion(token: call.token, result: .failure(error)))
    }

    /// The caller's task was cancelled.
    mutating func cancelled(_ id: UInt64) -> Action {
        guard let call = remove(id) else { return .none }
        return .completeAndCancel(Completion(token: call.token, result: .failure(.cancelled)))
    }

    /// Removes every call whose deadline has come. The callee is told about each, as its own clock may run late.
    mutating func expired(at now: ContinuousClock.Instant) -> [(id: UInt64, completion: Completion)] {
        guard let earliest = earliestDeadline, earliest <= now else { return [] }
        let due = calls.filter { $0.value.deadline <= now }
        for id in due.keys { _ = remove(id) }
        earliestDeadline = calls.values.map(\.deadline).min()
        return due.map { ($0.key, Completion(token: $0.value.token, result: .failure(.deadlineExceeded))) }
    }

    /// The connection is gone: every request was written, so the fate of each is unknown.
    mutating func closed() -> [Completion] {
        let lost = calls.values.map { Completion(token: $0.token, result: .failure(.transportLost)) }
        for call in calls.values { forget(call) }
        calls = [:]
        earliestDeadline = nil
        return lost
    }
}
