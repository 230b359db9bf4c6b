// SPDX-License-Identifier: Apache-2.0
import NIOCore
import SeededRandom
import StrataModel
import StrataWire
import Testing

/// Arbitrary bytes must give an answer or a failure, never a crash. Every run has the same inputs.
struct FuzzTests {
    static let seeds = [
        #"{"type":"request","body":{"method":"Message.create","request_id":"r4","object_id":"layer:///conversations/\#(conversationUUID)","data":{"parts":[{"mime_type":"text/plain","body":"h\u00e9 \ud83d\ude00"}],"id":"layer:///messages/\#(messageUUID)","notification":{"text":"x"}}}}"#,
        #"{"type":"signal","body":{"type":"typing_indicator","object":{"id":"layer:///conversations/\#(conversationUUID)"},"data":{"action":"started"}}}"#,
        #"[{"operation":"set","property":"metadata.a\\.b","value":{"x":{"y":"1"}}},{"operation":"add","property":"participants","id":"layer:///identities/a%20b"}]"#,
        #"{"participants":["ana","layer:///identities/ben"],"distinct":false,"metadata":{"a":{"b":"c"}},"id":null,"position":-1.5e3}"#,
    ]

    private func readEverything(_ bytes: [UInt8]) -> Bool {
        let buffer = ByteBuffer(bytes: bytes)
        _ = try? ClientPacket(parsing: buffer)
        guard checksAlike(buffer) else { return false }
        guard let json = try? JSONReader.parse(buffer) else { return false }
        _ = try? CreateConversationBody(json)
        _ = try? SendMessageBody(json, version: .v3)
        _ = try? SendMessageBody(json["body"]?["data"] ?? .null, version: .v2)
        _ = try? ConversationPatch(json)
        _ = try? SessionBody(json)
        _ = try? ReceiptBody(json)
        _ = try? ReceiptsBody(json)
        _ = try? MarkAllReadBody(json)
        _ = try? ReplayBody(json)
        _ = try? PresenceUpdateBody(json)
        _ = try? PresenceSyncBody(json)
        var writer = JSONWriter()
        writer.value(json)
        return (try? JSONReader.parse(writer.buffer)) == json
    }

    /// Returns true if checking without building a value finds the same error at the same place.
    private func checksAlike(_ buffer: ByteBuffer) -> Bool {
        let outlined = Result { () throws(JSONError) in _ = try JSONReader.outline(buffer, keeping: Self.outline) }
        let skipped = Result { () throws(JSONError) in _ = try JSONReader.parsedBytes(of: buffer) }
        let parsed = Result { () throws(JSONError) in _ = try JSONReader.parse(buffer) }
        let isAlike = [outlined, skipped].allSatisfy { $0.failed == parsed.failed }
        #expect(isAlike, "\(String(buffer: buffer))")
        return isAlike
    }

    private static let outline = JSONOutline([
        ("type", nil), ("body", JSONOutline([("request_id", nil), ("data", JSONOutline([("id", nil)]))])),
        ("metadata", nil), ("id", nil),
    ])

    @Test("mutated valid requests never crash a parser")
    func mutations() {
        let alphabet = Array("{}[]\",:\\u0dD8ecEx-+.tfn \u{1}".utf8) + [0, 0x7f, 0x80, 0xc3, 0xed, 0xff]
        var accepted = 0
        for round in 0..<40_000 {
            var generator = SeededGenerator(seed: UInt64(round))
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                guard !bytes.isEmpty else { break }
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                let byte = alphabet.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = byte
                case 1: bytes.insert(byte, at: place)
                case 2: bytes.remove(at: place)
                case 3: bytes.removeSubrange(place...)
                default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
                }
            }
            if readEverything(bytes) { accepted += 1 }
        }
        #expect(accepted > 0)
    }

    @Test("a hundred thousand short inputs never crash a parser")
    func shortInputs() {
        let alphabet = Array("{}[]\":,\\u0019ade+-.tru fnlsE".utf8) + [0, 0x80, 0xe2, 0xff]
        var generator = SeededGenerator(seed: 42)
        var accepted = 0
        for _ in 0..<100_000 {
            let bytes = (0..<Int.random(in: 0..<9, using: &generator))
                .map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            if readEverything(bytes) { accepted += 1 }
        }
        #expect(accepted > 100)
    }

    @Test("accepted input is written so that it parses to the same value")
    func acceptedIsStable() throws {
        for round in 0..<20_000 {
            var generator = SeededGenerator(seed: UInt64(round) | 1 << 40)
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            guard let value = try? JSONReader.parse(ByteBuffer(bytes: bytes)) else { continue }
            var writer = JSONWriter()
            writer.value(value)
            #expect(try JSONReader.parse(writer.buffer) == value, "round \(round)")
        }
    }

    @Test("random times, paths, ids and queries never crash a parser")
    func texts() {
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<20_000 {
            let text = JSONWriterTests.randomText(using: &generator)
            _ = ISO8601.parse(text)
            _ = ISO8601.parse("2018-05-04T" + text)
            if let segments = PatchPath.segments(of: text) {
                #expect(PatchPath.segments(of: segments.map(PatchPath.escape).joined(separator: ".")) == segments)
            }
            if let user = UserID(parsing: text) { #expect(UserID(parsing: user.layerID) == user) }
            _ = WireVersion(accept: text)
            _ = try? ConversationsQuery { _ in text }
            _ = try? DeletionQuery { _ in text }
            _ = try? ConversationDeletionQuery { ["mode": "my_devices", "position": text][$0] }
        }
    }
}

extension Result where Failure == JSONError {
    fileprivate var failed: JSONError? { if case .failure(let error) = self { error } else { nil } }
}
