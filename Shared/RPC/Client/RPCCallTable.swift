// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// The state machine of a caller's calls in flight on one connection.
///
/// Every token leaves exactly once, in a ``Completion``, regardless of the order of events. Frames for calls that have
/// left are ignored, because a response can cross a cancellation.
struct RPCCallTable<Token> {
    struct Completion {
        var token: Token
        var result: Result<ByteBuffer, RPCError>
    }

    enum Action {
        case none
        case complete(Completion)
        /// Complete the call, and inform the callee that the caller no longer waits.
        case completeAndCancel(Completion)
    }

    private struct Call {
        var token: Token
        var deadline: ContinuousClock.Instant
        /// The parts of a long response received so far.
        var parts: ByteBuffer?
    }

    private let maxAnswerBytes: Int
    /// The byte budget for incomplete long responses, shared by all connections.
    private let arriving: ByteBudget
    private var calls: [UInt64: Call] = [:]
    /// A lower bound of all deadlines. It may belong to a call that has left, because searching for the next one would
    /// cost more than an unnecessary check.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    init(maxAnswerBytes: Int, arriving: ByteBudget = ByteBudget(limit: .max)) {
        self.maxAnswerBytes = maxAnswerBytes
        self.arriving = arriving
    }

    var isEmpty: Bool { calls.isEmpty }
    var count: Int { calls.count }

    /// Records a call before its request is written. Returns false without recording if the id is in use.
    mutating func started(_ id: UInt64, token: Token, deadline: ContinuousClock.Instant) -> Bool {
        guard calls[id] == nil else { return false }
        calls[id] = Call(token: token, deadline: deadline)
        if let earliest = earliestDeadline {
            earliestDeadline = min(earliest, deadline)
        } else {
            earliestDeadline = deadline
        }
        return true
    }

    /// Removes a call and releases the bytes of its incomplete response.
    private mutating func remove(_ id: UInt64) -> Call? {
        guard let call = calls.removeValue(forKey: id) else { return nil }
        releaseParts(of: call)
        return call
    }

    private func releaseParts(of call: Call) {
        if let parts = call.parts { arriving.release(parts.readableBytes) }
    }

    /// Completes a call with a response, or with the last part of a long one.
    mutating func answered(_ id: UInt64, with payload: ByteBuffer) -> Action {
        guard var call = remove(id) else { return .none }
        guard var whole = call.parts.take() else {
            guard payload.readableBytes <= maxAnswerBytes else {
                return .complete(Completion(token: call.token, result: .failure(.answerTooLarge)))
            }
            return .complete(Completion(token: call.token, result: .success(payload)))
        }
        guard whole.readableBytes + payload.readableBytes <= maxAnswerBytes else {
            return .complete(Completion(token: call.token, result: .failure(.answerTooLarge)))
        }
        whole.writeImmutableBuffer(payload)
        return .complete(Completion(token: call.token, result: .success(whole)))
    }

    /// Appends a part of a long response. At least one more part follows.
    mutating func partAnswered(_ id: UInt64, with payload: ByteBuffer) -> Action {
        // Remove the call while its buffer grows. A buffer that remains in the dictionary would be copied for each
        // part.
        guard var call = calls.removeValue(forKey: id) else { return .none }
        var whole = call.parts.take() ?? ByteBuffer()
        let isTooLarge = whole.readableBytes + payload.readableBytes > maxAnswerBytes
        guard !isTooLarge, arriving.reserve(payload.readableBytes, beside: whole.readableBytes) else {
            arriving.release(whole.readableBytes)
            return .completeAndCancel(
                Completion(token: call.token, result: .failure(isTooLarge ? .answerTooLarge : .overloaded)))
        }
        whole.writeImmutableBuffer(payload)
        call.parts = whole
        calls[id] = call
        return .none
    }

    /// Completes a call with an error of the callee.
    mutating func failed(_ id: UInt64, error: RPCError) -> Action {
        guard let call = remove(id) else { return .none }
        return .complete(Completion(token: call.token, result: .failure(error)))
    }

    /// Completes a call whose caller no longer waits.
    mutating func cancelled(_ id: UInt64) -> Action {
        guard let call = remove(id) else { return .none }
        return .completeAndCancel(Completion(token: call.token, result: .failure(.cancelled)))
    }

    /// Removes all expired calls. The caller informs the callee of each one, because the callee's clock may be late.
    mutating func expired(at now: ContinuousClock.Instant) -> [(id: UInt64, completion: Completion)] {
        guard let earliest = earliestDeadline, earliest <= now else { return [] }
        let due = calls.filter { $0.value.deadline <= now }
        for id in due.keys { _ = remove(id) }
        earliestDeadline = calls.values.map(\.deadline).min()
        return due.map { ($0.key, Completion(token: $0.value.token, result: .failure(.deadlineExceeded))) }
    }

    /// Removes all calls after the connection was lost. Every request was written, so the outcome of each is unknown.
    mutating func closed() -> [Completion] {
        let lost = calls.values.map { Completion(token: $0.token, result: .failure(.transportLost)) }
        for call in calls.values { releaseParts(of: call) }
        calls = [:]
        earliestDeadline = nil
        return lost
    }
}
