// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RPC

struct SupportTests {
    @Test("a silent peer is asked, then given up; any byte starts over")
    func liveness() {
        var liveness = RPCLiveness(allowedMisses: 2)
        #expect((0..<5).map { _ in liveness.tick() } == [.none, .ping, .ping, .ping, .giveUp])
        liveness.progressed()
        #expect(liveness.tick() == .none)
        #expect(liveness.tick() == .ping)
        liveness.progressed()
        #expect(liveness.tick() == .none)
    }

    @Test("waits double up to the maximum and are spread over the upper half")
    func backoff() {
        let backoff = RPCBackoff(initial: .milliseconds(100), maximum: .seconds(1))
        #expect(backoff.delay(attempt: 0, random: 0) == .milliseconds(50))
        #expect(backoff.delay(attempt: 2, random: 0) == .milliseconds(200))
        #expect(backoff.delay(attempt: 9, random: 0) == .milliseconds(500))
        #expect(backoff.delay(attempt: .max, random: 0.5) == .milliseconds(750))
    }

    @Test("the first item wakes, a drained mailbox takes follow-ups only, a closed one nothing")
    func mailbox() {
        let mailbox = RPCMailbox<Int>()
        #expect(mailbox.put(1) == .wake)
        #expect(mailbox.put(2) == .queued)
        #expect(mailbox.take() == [1, 2])
        #expect(mailbox.isEmpty)
        mailbox.drain()
        #expect(mailbox.put(3) == .refused)
        #expect(mailbox.putFollowUp(4) == .wake)
        #expect(mailbox.close() == [4])
        #expect(mailbox.putFollowUp(5) == .refused)
    }

    @Test("bytes that wait are bounded, but a lone item is always taken")
    func mailboxBytes() {
        let mailbox = RPCMailbox<Int>()
        #expect(mailbox.put(1, bytes: 50, limit: 10) == .wake)
        #expect(mailbox.put(2, bytes: 1, limit: 50) == .full)
        mailbox.released(bytes: 50)
        #expect(mailbox.put(3, bytes: 10, limit: 10) == .queued)
    }

    @Test("a latch wakes those who wait and those who come later, and can be left")
    func latch() async throws {
        let latch = RPCLatch<Int>()
        let leaver = Task { try await latch.value() }
        leaver.cancel()
        await #expect(throws: CancellationError.self) { try await leaver.value }
        async let early = latch.value()
        latch.settle(.success(7))
        latch.settle(.success(8))
        #expect(try await early == 7)
        #expect(try await latch.value() == 7)
    }

    @Test("long answers give a piece in turn, and a cancelled one no more")
    func longAnswers() {
        var answers = RPCLongAnswers(pieceBytes: 3)
        answers.add(1, ByteBuffer(string: "abcdef"))
        answers.add(2, ByteBuffer(string: "ABCD"))
        answers.add(3, ByteBuffer(string: "xyz123"))
        #expect(answers.next() == .init(id: 1, payload: ByteBuffer(string: "abc"), isLast: false))
        #expect(answers.next() == .init(id: 2, payload: ByteBuffer(string: "ABC"), isLast: false))
        #expect(answers.next() == .init(id: 3, payload: ByteBuffer(string: "xyz"), isLast: false))
        #expect(answers.bytes == 7)
        #expect(answers.remove(3) == 3)
        #expect(answers.remove(3) == nil)
        #expect(answers.next() == .init(id: 1, payload: ByteBuffer(string: "def"), isLast: true))
        #expect(answers.next() == .init(id: 2, payload: ByteBuffer(string: "D"), isLast: true))
        #expect(answers.next() == nil)
        #expect(answers.bytes == 0)
    }

    @Test("trace ids read what they write and nothing else")
    func traceID() {
        let trace = TraceID(high: 0x0123_4567_89AB_CDEF, low: 1)
        #expect(trace.description == "0123456789abcdef0000000000000001")
        #expect(TraceID(hex: "0123456789ABCDEF0000000000000001") == trace)
        for wrong in ["", "0123", "+123456789abcdef0000000000000001", "0123456789abcdef000000000000000g", trace.description + "0"] {
            #expect(TraceID(hex: wrong) == nil)
        }
        #expect(TraceID.random() != TraceID.random())
    }

    @Test(
        "endpoints are read",
        arguments: [
            ("name:80", RPCEndpoint(host: "name", port: 80)), ("[::1]:65535", RPCEndpoint(host: "::1", port: 65_535)), ("name", nil), (":80", nil),
            ("name:0", nil), ("name:65536", nil), ("::1:80", nil), ("name:x", nil), ("", nil),
        ] as [(String, RPCEndpoint?)])
    func endpoint(_ text: String, _ expected: RPCEndpoint?) {
        #expect(RPCEndpoint(text) == expected)
        if let expected { #expect(expected.description == text) }
    }

    @Test("only errors without effect are called retryable")
    func retryable() {
        let codes = RPCError.Code.Base.allCases.map { RPCError.Code(base: $0) }
        #expect(codes.filter { RPCError($0).isRetryable } == [.unavailable, .overloaded])
        #expect(RPCError.application(ByteBuffer(string: "secret")).description == "RPC error: application")
    }
}
