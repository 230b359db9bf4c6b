// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit
import SeededRandom
import Testing

@testable import RPC

final class CallTableTests {
    let start = ContinuousClock.now
    var table = RPCCallTable<String>(maxAnswerBytes: 10)

    func begin(_ id: UInt64, after delay: Duration = .seconds(10)) {
        #expect(table.started(id, token: "call \(id)", deadline: start + delay) == true)
    }

    @Test("an answer completes its call, once")
    func answer() {
        begin(1)
        begin(2)
        #expect(
            table.answered(2, with: ByteBuffer(string: "two")).outcome
                == .completed("call 2", .success(ByteBuffer(string: "two"))))
        #expect(table.answered(2, with: ByteBuffer(string: "two")).outcome == .none)
        #expect(table.count == 1)
    }

    @Test("an id in use is refused, and the first call stays")
    func idInUse() {
        begin(1)
        #expect(table.started(1, token: "other", deadline: start) == false)
        #expect(table.failed(1, error: .internal).outcome == .completed("call 1", .failure(.internal)))
    }

    @Test("parts of an answer are assembled, up to the limit")
    func parts() {
        begin(1)
        begin(2)
        begin(3)
        #expect(table.partAnswered(1, with: ByteBuffer(string: "12345")).outcome == .none)
        #expect(
            table.answered(1, with: ByteBuffer(string: "67890")).outcome
                == .completed("call 1", .success(ByteBuffer(string: "1234567890"))))
        #expect(table.partAnswered(2, with: ByteBuffer(string: "1234567890")).outcome == .none)
        #expect(
            table.partAnswered(2, with: ByteBuffer(string: "1")).outcome
                == .completedAndCancelled("call 2", .failure(.answerTooLarge)))
        #expect(table.partAnswered(2, with: ByteBuffer(string: "1")).outcome == .none)
        #expect(
            table.answered(3, with: ByteBuffer(string: "12345678901")).outcome
                == .completed("call 3", .failure(.answerTooLarge)))
        #expect(table.isEmpty)
    }

    @Test("received bytes of long answers share one limit across tables, and count until their call ends")
    func arriving() {
        let arriving = ByteBudget(limit: 100)
        table = RPCCallTable(maxAnswerBytes: 1000, arriving: arriving)
        var other = RPCCallTable<String>(maxAnswerBytes: 1000, arriving: arriving)
        let part = ByteBuffer(repeating: 0x61, count: 40)
        for id in 1...4 { begin(UInt64(id)) }
        for id in 1...2 {
            #expect(
                other.started(UInt64(id), token: "other \(id)", deadline: start + .seconds(UInt64(id) == 1 ? 5 : 10))
                    == true)
        }
        // A single answer may exceed the limit.
        for _ in 0..<3 { #expect(table.partAnswered(1, with: part).outcome == .none) }
        #expect(table.partAnswered(2, with: part).outcome == .completedAndCancelled("call 2", .failure(.overloaded)))
        #expect(arriving.inUse == 120)
        #expect(
            table.answered(1, with: part).outcome
                == .completed("call 1", .success(ByteBuffer(repeating: 0x61, count: 160))))
        #expect(arriving.inUse == 0)
        #expect(table.partAnswered(3, with: part).outcome == .none)
        #expect(other.partAnswered(1, with: part).outcome == .none)
        // A call that exceeds the limit is refused, and its parts are discarded.
        #expect(table.partAnswered(3, with: part).outcome == .completedAndCancelled("call 3", .failure(.overloaded)))
        #expect(arriving.inUse == 40)
        #expect(table.partAnswered(4, with: part).outcome == .none)
        #expect(table.failed(4, error: .internal).outcome == .completed("call 4", .failure(.internal)))
        #expect(other.expired(at: start + .seconds(5)).map(\.id) == [1])
        #expect(arriving.inUse == 0)
        #expect(other.partAnswered(2, with: part).outcome == .none)
        #expect(other.closed().count == 1)
        #expect(arriving.inUse == 0)
    }

    @Test("a cancelled call completes and notifies its callee, and its answer is ignored")
    func cancel() {
        begin(1)
        #expect(table.cancelled(1).outcome == .completedAndCancelled("call 1", .failure(.cancelled)))
        #expect(table.cancelled(1).outcome == .none)
        #expect(table.answered(1, with: ByteBuffer()).outcome == .none)
        #expect(table.failed(1, error: .internal).outcome == .none)
        #expect(table.partAnswered(1, with: ByteBuffer()).outcome == .none)
    }

    @Test("deadlines expire in time, and the table returns the earliest")
    func deadlines() {
        begin(1, after: .seconds(3))
        begin(2, after: .seconds(1))
        begin(3, after: .seconds(2))
        #expect(table.earliestDeadline == start + .seconds(1))
        #expect(table.expired(at: start).isEmpty)
        #expect(table.expired(at: start + .seconds(2)).map(\.id).sorted() == [2, 3])
        #expect(table.earliestDeadline == start + .seconds(3))
        #expect(table.expired(at: start + .seconds(3)).map(\.completion.result) == [.failure(.deadlineExceeded)])
        #expect(table.earliestDeadline == nil)
    }

    @Test("a lost connection ends every call, including partially answered ones")
    func closed() {
        begin(1)
        begin(2)
        _ = table.partAnswered(2, with: ByteBuffer(string: "1"))
        let lost = table.closed()
        #expect(lost.map(\.token).sorted() == ["call 1", "call 2"])
        #expect(lost.allSatisfy { $0.result == .failure(.transportLost) })
        #expect(table.closed().isEmpty)
    }

    @Test("every call completes exactly once in any order of events", arguments: 0..<50 as Range<UInt64>)
    func exactlyOnce(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var completed: [String: Int] = [:]
        var started = 0
        for step in 0..<400 {
            let id = UInt64.random(in: 1...UInt64(max(1, started)), using: &random)
            var ended: [RPCCallTable<String>.Completion] = []
            switch Int.random(in: 0..<9, using: &random) {
            case 0...2:
                started += 1
                begin(UInt64(started), after: .milliseconds(Int.random(in: 0...400, using: &random)))
            case 3: ended += table.answered(id, with: ByteBuffer(string: "1234")).completion
            case 4: ended += table.partAnswered(id, with: ByteBuffer(string: "1234")).completion
            case 5: ended += table.failed(id, error: .internal).completion
            case 6: ended += table.cancelled(id).completion
            default: ended += table.expired(at: start + .milliseconds(step)).map(\.completion)
            }
            for completion in ended { completed[completion.token, default: 0] += 1 }
        }
        for completion in table.closed() { completed[completion.token, default: 0] += 1 }
        #expect(completed.count == started)
        #expect(completed.values.allSatisfy { $0 == 1 })
    }
}

extension RPCCallTable.Action where Token == String {
    enum Outcome: Equatable {
        case none
        case completed(String, Result<ByteBuffer, RPCError>)
        case completedAndCancelled(String, Result<ByteBuffer, RPCError>)
    }

    var outcome: Outcome {
        switch self {
        case .none: .none
        case .complete(let completion): .completed(completion.token, completion.result)
        case .completeAndCancel(let completion): .completedAndCancelled(completion.token, completion.result)
        }
    }

    var completion: [RPCCallTable.Completion] {
        switch self {
        case .none: []
        case .complete(let completion), .completeAndCancel(let completion): [completion]
        }
    }
}
