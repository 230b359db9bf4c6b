// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct ClientPacketTests {
    private func parse(_ text: String) throws -> ClientPacket { try ClientPacket(parsing: ByteBuffer(string: text)) }

    @Test("requests are parsed, with and without object and data")
    func requests() throws {
        let full = try parse(
            #"{"type":"request","body":{"method":"Message.create","object_id":"layer:///conversations/\#(conversationUUID)","data":{"a":1},"request_id":"r4","x":0},"y":0}"#
        )
        guard case .request(let request) = full else { return #expect(Bool(false), "not a request") }
        #expect(
            request.id == "r4" && request.method == "Message.create"
                && request.objectID == "layer:///conversations/\(conversationUUID)")
        #expect(request.outline == .object([]))
        #expect(try request.conversationID() == conversationID)
        for text in [
            #"{"type":"request","body":{"method":"Counter.read","request_id":"r1"}}"#,
            #"{"body":{"request_id":"r1","method":"Counter.read","object_id":null,"data":null},"type":"request"}"#,
        ] {
            guard case .request(let request) = try parse(text) else { return #expect(Bool(false), "not a request") }
            #expect(
                request.id == "r1" && request.method == "Counter.read" && request.objectID == nil
                    && request.outline == .null)
        }
    }

    @Test("a parsed request has its scheduling data; the rest is parsed from its frame later")
    func outline() throws {
        let text =
            #"{"type":"request","body":{"method":"Message.create","request_id":"r","data":{"id":"x","parts":[{"body":"y"}],"ordered":true}}}"#
        guard case .request(let request) = try parse(text) else {
            Issue.record("not a request")
            return
        }
        #expect(request.outline == json(#"{"id":"x","ordered":true}"#))
        #expect(request.parsedBytes >= 500)
        #expect(
            try ClientPacket.data(in: ByteBuffer(string: text))
                == json(#"{"id":"x","parts":[{"body":"y"}],"ordered":true}"#))
        guard case .request(let empty) = try parse(#"{"type":"request","body":{"method":"m","request_id":"r"}}"#) else {
            Issue.record("not a request")
            return
        }
        #expect(empty.outline == .null)
        #expect(try ClientPacket.data(in: ByteBuffer(string: #"{"type":"request","body":{}}"#)) == .null)
    }

    @Test("a request about a conversation requires its id")
    func objectID() {
        #expect(
            failure { _ = try ClientPacket.Request(id: "r", method: "m").conversationID() }?.code == .missingProperty)
        #expect(
            failure { _ = try ClientPacket.Request(id: "r", method: "m", objectID: "x").conversationID() }?.property
                == "object_id")
    }

    @Test("typing signals are parsed", arguments: TypingAction.allCases)
    func typing(action: TypingAction) throws {
        let body =
            #""type":"typing_indicator","object":{"id":"layer:///conversations/\#(conversationUUID)"},"data":{"action":"\#(action.rawValue)"}"#
        #expect(try parse(#"{"type":"signal","body":{\#(body)}}"#) == .typing(conversationID, action, requestID: nil))
        #expect(
            try parse(#"{"type":"signal","body":{\#(body),"request_id":"r2"}}"#)
                == .typing(conversationID, action, requestID: "r2"))
    }

    @Test("a signal about an invalid conversation is dropped, or refused if it requests a response")
    func otherSignal() throws {
        let body =
            #""type":"typing_indicator","object":{"id":"layer:///channels/\#(conversationUUID)"},"data":{"action":"started"}"#
        #expect(try parse(#"{"type":"signal","body":{\#(body)}}"#) == .dropped)
        guard case .refused("r2", _, _) = try parse(#"{"type":"signal","body":{\#(body),"request_id":"r2"}}"#) else {
            Issue.record("not refused")
            return
        }
    }

    @Test(
        "a signal of an unknown type or action is dropped, since later versions may define it",
        arguments: [
            #"{"type":"signal","body":{"type":"dance"}}"#,
            #"{"type":"signal","body":{"type":"dance","object":{"id":"x"},"data":[]}}"#,
            #"{"type":"signal","body":{"type":"typing_indicator","object":{"id":"\#(conversationUUID)"},"data":{"action":"singing"}}}"#,
        ])
    func unknownSignal(text: String) throws { #expect(try parse(text) == .dropped) }

    @Test(
        "frames that cannot be answered are refused",
        arguments: [
            "", "x", "{", "[]", "null", "{}", #"{"type":"request"}"#, #"{"type":"request","body":[]}"#,
            #"{"type":"request","body":{"method":"Counter.read"}}"#,
            #"{"type":"request","body":{"method":"Counter.read","request_id":7}}"#,
            #"{"type":"change","body":{"request_id":"r1"}}"#,
            #"{"type":3,"body":{}}"#,
            #"{"type":"signal","body":{"type":"typing_indicator"}}"#, #"{"type":"signal","body":{"type":7}}"#,
            #"{"type":"signal","body":{"type":"typing_indicator","object":{"id":"x"},"data":{"action":"started"}}}"#,
            #"{"type":"signal","body":{"type":"typing_indicator","object":{"id":"\#(conversationUUID)"},"data":{"action":7}}}"#,
            #"{"type":"request","body":{"method":"Counter.read","request_id":"\#(String(repeating: "r", count: 257))"}}"#,
            "{\"type\":\"request\",\"body\":\"\\ud800\"}",
        ])
    func malformed(text: String) {
        #expect(throws: Failure.self) { try parse(text) }
    }

    @Test(
        "frames that allow only a failure response name the reason",
        arguments: [
            (#"{"type":"request","body":{"request_id":"r1"}}"#, "", Failure.Code.missingProperty, "method"),
            (#"{"type":"request","body":{"request_id":"r1","method":7}}"#, "", .invalidProperty, "method"),
            (
                #"{"type":"request","body":{"request_id":"r1","method":"\#(String(repeating: "m", count: 129))"}}"#, "",
                .invalidProperty, "method"
            ),
            (
                #"{"type":"request","body":{"request_id":"r1","method":"Message.create","object_id":5}}"#,
                "Message.create", .invalidProperty,
                "object_id"
            ),
            (#"{"type":"signal","body":{"request_id":"r1","type":"dance"}}"#, "", .invalidProperty, "type"),
            (
                #"{"type":"signal","body":{"request_id":"r1","type":"typing_indicator"}}"#, "", .invalidProperty,
                "object.id"
            ),
            (
                #"{"type":"signal","body":{"request_id":"r1","type":"typing_indicator","object":{"id":"\#(conversationUUID)"}}}"#,
                "",
                .invalidProperty, "data.action"
            ),
        ] as [(String, String, Failure.Code, String)])
    func refused(text: String, method: String, code: Failure.Code, property: String) throws {
        guard case .refused("r1", method, let failure) = try parse(text) else {
            return #expect(Bool(false), "not refused")
        }
        #expect(failure.code == code)
        #expect(failure.detail == .property(property))
    }
}
