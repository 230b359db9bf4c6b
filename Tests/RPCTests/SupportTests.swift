// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RPC

struct SupportTests {
    @Test("long answers send chunks in turn, and a cancelled one sends none")
    func longAnswers() {
        var answers = RPCLongAnswers(pieceBytes: 3)
        answers.add(ByteBuffer(string: "abcdef"), forCall: 1)
        answers.add(ByteBuffer(string: "ABCD"), forCall: 2)
        answers.add(ByteBuffer(string: "xyz123"), forCall: 3)
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

    @Test("trace ids decode exactly their own encoding")
    func traceID() {
        let trace = TraceID(high: 0x0123_4567_89AB_CDEF, low: 1)
        #expect(trace.description == "0123456789abcdef0000000000000001")
        #expect(TraceID(hex: "0123456789ABCDEF0000000000000001") == trace)
        for wrong in [
            "", "0123", "+123456789abcdef0000000000000001", "0123456789abcdef000000000000000g", trace.description + "0",
        ] {
            #expect(TraceID(hex: wrong) == nil)
        }
        #expect(TraceID.random() != TraceID.random())
    }

    @Test(
        "endpoints are parsed",
        arguments: [
            ("name:80", RPCEndpoint(host: "name", port: 80)), ("[::1]:65535", RPCEndpoint(host: "::1", port: 65_535)),
            ("name", nil), (":80", nil),
            ("name:0", nil), ("name:65536", nil), ("::1:80", nil), ("name:x", nil), ("", nil),
        ] as [(String, RPCEndpoint?)])
    func endpoint(_ text: String, _ expected: RPCEndpoint?) {
        #expect(RPCEndpoint(text) == expected)
        if let expected { #expect(expected.description == text) }
    }

    @Test("only errors without effect are retryable")
    func retryable() {
        let codes = RPCError.Code.Base.allCases.map { RPCError.Code(base: $0) }
        #expect(codes.filter { RPCError($0).isRetryable } == [.unavailable, .overloaded])
        #expect(RPCError.application(ByteBuffer(string: "secret")).description == "RPC error: application")
    }
}
