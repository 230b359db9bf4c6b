// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

struct SendMessageTests {
    private static let longest = String(repeating: "é", count: 2048)
    private static let base64 = String(repeating: "AAAA", count: 683)

    private func parse(_ text: String, version: WireVersion = .v3) throws -> SendMessageBody {
        try SendMessageBody(json(text), version: version)
    }
    private func part(_ members: String) -> String {
        #"{"parts":[{"mime_type":"text/plain","body":"x"},{\#(members)}]}"#
    }

    @Test("a message in the format of 3.0 stock clients is accepted")
    func version3() throws {
        let body = try parse(
            """
            {"id":"layer:///messages/\(messageUUID)","notification":{"text":"hi","recipients":{"layer:///identities/b":{"text":"\\u00e9"}}},
             "parts":[{"id":"layer:///messages/\(messageUUID)/parts/\(partUUID)","mime_type":"a/b;role=root","body":"é","encoding":null,"content":null},
                      {"id":"\(conversationUUID)","mime_type":"image/png","body":"AAECAw==","encoding":"base64"},{"mime_type":"x","body":""}]}
            """)
        #expect(body.id == messageID)
        #expect(body.parts.count == 3)
        #expect(body.parts[0] == MessagePart(id: uuid(partUUID), mimeType: "a/b;role=root", body: "é", size: 2))
        #expect(
            body.parts[1]
                == MessagePart(
                    id: uuid(conversationUUID), mimeType: "image/png", body: "AAECAw==", encoding: "base64", size: 4))
        #expect(body.parts[2].size == 0)
        #expect(Set(body.parts.map(\.id)).count == 3)
        #expect(body.notification == #"{"text":"hi","recipients":{"layer:///identities/b":{"text":"é"}}}"#)
    }

    @Test("2.0 clients do not name their parts, and extra members are ignored")
    func version2() throws {
        let body = try parse(
            #"{"parts":[{"mime_type":"text/plain","body":"a","id":7},{"mime_type":"text/plain","body":"b"}]}"#,
            version: .v2)
        #expect(body.id == nil)
        #expect(body.parts.map(\.body) == ["a", "b"])
        #expect(body.parts[0].id != body.parts[1].id)
    }

    @Test("ids are compared case-insensitively")
    func upperCase() throws {
        let body = try parse(
            #"{"id":"\#(messageUUID.uppercased())","parts":[{"id":"layer:///messages/\#(messageUUID)/parts/\#(partUUID.uppercased())","mime_type":"x","body":""}]}"#
        )
        #expect(body.parts.first?.id == uuid(partUUID))
    }

    @Test(
        "an invalid message is refused by name, with the index of the part",
        arguments: [
            ("[]", Failure.Code.invalidRequest, nil), ("{}", .missingProperty, "parts"),
            (#"{"parts":null}"#, .missingProperty, "parts"),
            (#"{"parts":{}}"#, .invalidProperty, "parts"), (#"{"parts":[]}"#, .invalidProperty, "parts"),
            (#"{"parts":[1]}"#, .invalidProperty, "parts.0"),
            (#"{"parts":[{"body":"x"}]}"#, .missingProperty, "parts.0.mime_type"),
            (#"{"parts":[{"mime_type":"","body":"x"}]}"#, .invalidProperty, "parts.0.mime_type"),
            (#"{"parts":[{"mime_type":5,"body":"x"}]}"#, .invalidProperty, "parts.0.mime_type"),
            (#"{"id":"x","parts":[{"mime_type":"x","body":"x"}]}"#, .invalidProperty, "id"),
            (
                #"{"id":"layer:///conversations/\#(messageUUID)","parts":[{"mime_type":"x","body":"x"}]}"#,
                .invalidProperty, "id"
            ),
        ] as [(String, Failure.Code, String?)])
    func badMessages(text: String, code: Failure.Code, property: String?) {
        let result = failure { _ = try parse(text) }
        #expect(result?.code == code)
        #expect(result?.property == property)
    }

    @Test(
        "an invalid part is refused by name",
        arguments: [
            (#""mime_type":"x""#, Failure.Code.missingProperty, "parts.1.body"),
            (#""mime_type":"x","body":null"#, .missingProperty, "parts.1.body"),
            (#""mime_type":"x","body":{}"#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"x","encoding":"gzip""#, .invalidProperty, "parts.1.encoding"),
            (#""mime_type":"x","body":"x","encoding":true"#, .invalidProperty, "parts.1.encoding"),
            (
                #""mime_type":"x","content":{"id":"layer:///content/x","size":3000}"#, .invalidProperty,
                "parts.1.content"
            ),
            (#""mime_type":"x","body":"AAA","encoding":"base64""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"AA=A","encoding":"base64""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"A===","encoding":"base64""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"AA-_","encoding":"base64""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"\#(longest)x""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"\#(base64)","encoding":"base64""#, .invalidProperty, "parts.1.body"),
            (#""mime_type":"x","body":"x","id":5"#, .invalidProperty, "parts.1.id"),
            (#""mime_type":"x","body":"x","id":"x""#, .invalidProperty, "parts.1.id"),
            (
                #""mime_type":"x","body":"x","id":"layer:///messages/\#(messageUUID)/parts/\#(partUUID)""#,
                .invalidProperty, "parts.1.id"
            ),
        ] as [(String, Failure.Code, String)])
    func badParts(members: String, code: Failure.Code, property: String) {
        let result = failure { _ = try parse(part(members)) }
        #expect(result?.code == code)
        #expect(result?.property == property)
    }

    @Test("part ids must be below the message's own id and differ")
    func partIDs() {
        func parts(_ ids: [String]) -> String {
            let parts = ids.map { #"{"id":"\#($0)","mime_type":"x","body":""}"# }.joined(separator: ",")
            return #"{"id":"\#(messageUUID)","parts":[\#(parts)]}"#
        }
        let good = "layer:///messages/\(messageUUID)/parts/\(partUUID)"
        #expect(failure { _ = try parse(parts([good])) } == nil)
        for bad in [
            "layer:///messages/\(conversationUUID)/parts/\(partUUID)",
            "layer:///messages/\(messageUUID)/part/\(partUUID)", "/parts/\(partUUID)",
            "layer:///messages/\(messageUUID)/parts/0", "layer:///messages/\(messageUUID)",
            "layer:///messages/\(messageUUID)parts/\(partUUID)",
        ] { #expect(failure { _ = try parse(parts([bad])) }?.property == "parts.0.id", "\(bad)") }
        #expect(failure { _ = try parse(parts([good, good])) }?.property == "parts.1.id")
        #expect(failure { _ = try parse(parts([good, partUUID.uppercased()])) }?.property == "parts.1.id")
    }

    @Test("inline bodies have exact limits")
    func inlineLimits() throws {
        #expect(try parse(part(#""mime_type":"x","body":"\#(Self.longest)""#)).parts[1].size == 4096)
        // A character outside of the basic multilingual plane counts twice.
        let faces = String(repeating: "😀", count: 1024)
        #expect(try parse(part(#""mime_type":"x","body":"\#(faces)""#)).parts[1].size == 4096)
        #expect(failure { _ = try parse(part(#""mime_type":"x","body":"\#(faces)x""#)) }?.property == "parts.1.body")
        let exact = String(repeating: "AAAA", count: 682) + "AAA="
        #expect(try parse(part(#""mime_type":"x","body":"\#(exact)","encoding":"base64""#)).parts[1].size == 2048)
    }

    @Test("the number of parts and their total size have exact limits")
    func messageLimits() throws {
        func parts(_ count: Int, _ body: String) -> String {
            let part = #"{"mime_type":"x","body":"\#(body)"}"#
            return #"{"parts":[\#(Array(repeating: part, count: count).joined(separator: ","))]}"#
        }
        #expect(try parse(parts(1000, "")).parts.count == 1000)
        #expect(failure { _ = try parse(parts(1001, "")) }?.property == "parts")
        #expect(
            failure { _ = try SendMessageBody(json(parts(4, "")), version: .v3, partsLimit: 3) }?.property == "parts")
        #expect(try SendMessageBody(json(parts(1001, "")), version: .v3, partsLimit: 2000).parts.count == 1001)
        let body = String(repeating: "x", count: 2048)
        #expect(try parse(parts(128, body)).parts.count == 128)
        #expect(failure { _ = try parse(parts(129, body)) }?.property == "parts")
    }

    @Test(
        "an invalid notification never refuses a message",
        arguments: [
            ("null", nil), ("\"x\"", nil), ("[]", nil), ("{}", "{}"),
            (#"{"a":[1,null,{"b":1.5}]}"#, #"{"a":[1,null,{"b":1.5}]}"#),
            (#"{"text":"\#(String(repeating: "x", count: 17_000))"}"#, nil),
        ] as [(String, String?)])
    func notifications(text: String, kept: String?) throws {
        #expect(try parse(#"{"parts":[{"mime_type":"x","body":"x"}],"notification":\#(text)}"#).notification == kept)
    }
}
