// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import Testing

struct IdentifierTests {
    static let uuid = "6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01"

    @Test("a webhook id contains its app; a path accepts its short form or UUID, but not another app's")
    func webhooks() throws {
        let app = try #require(AppID(parsing: "00000000-0000-4000-8000-00000000000A"))
        let webhook = try #require(WebhookID(parsing: Self.uuid))
        let id = webhook.layerID(in: app)
        #expect(id == "layer:///apps/00000000-0000-4000-8000-00000000000a/webhooks/\(webhook)")
        for text in [id, id.replacing("000a", with: "000A"), Self.uuid, "layer:///webhooks/\(Self.uuid)"] {
            #expect(WebhookID(parsing: text, in: app) == webhook, "\(text)")
        }
        let other = try #require(AppID(parsing: "00000000-0000-4000-8000-00000000000b"))
        for text in [
            webhook.layerID(in: other), id + "x", "layer:///apps/\(app)/webhooks/\(id)",
            "layer:///apps/\(app)/webhooks/", "",
        ] {
            #expect(WebhookID(parsing: text, in: app) == nil, "\(text)")
        }
    }

    @Test(
        "a conversation id is parsed from every spelling",
        arguments: [
            uuid, uuid.uppercased(), "layer:///conversations/\(uuid)", "layer://conversations/\(uuid)",
            "layer:///conversations/\(uuid.uppercased())",
        ])
    func parsesSpellings(text: String) throws {
        let id = try #require(ConversationID(parsing: text))
        #expect(id.description == Self.uuid)
        #expect(id.layerID == "layer:///conversations/\(Self.uuid)")
        #expect(id == ConversationID(parsing: text.dropFirst(0)))
    }

    @Test(
        "an invalid conversation id is refused",
        arguments: [
            "", "x", "layer:///messages/\(uuid)", "layer:///conversations/", "layer:////conversations/\(uuid)",
            "layer:/conversations/\(uuid)",
            "conversations/\(uuid)", "layer:///conversations/\(uuid)/", "layer:///conversations/\(uuid)/parts/\(uuid)",
            " \(uuid)", "\(uuid) ",
            "6f6f0a526a0e4b0c9a530d6d1b1f8a01", "6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a0g",
            "6f6f0a52-6a0e-4b0c-9a530-d6d1b1f8a01", "é\(uuid)",
        ])
    func refusesOthers(text: String) {
        #expect(ConversationID(parsing: text) == nil)
    }

    @Test("an app id is parsed with either environment")
    func parsesApps() throws {
        for text in [
            Self.uuid, "layer:///apps/production/\(Self.uuid)", "layer:///apps/staging/\(Self.uuid)",
            "layer://apps/staging/\(Self.uuid)",
        ] {
            #expect(AppID(parsing: text)?.description == Self.uuid)
        }
        #expect(AppID(parsing: "layer:///apps/\(Self.uuid)") == nil)
        #expect(AppID(parsing: "layer:///apps/other/\(Self.uuid)") == nil)
    }

    @Test("a UUID's text is lower case and parsed back")
    func uuidText() {
        for _ in 0..<1000 {
            let uuid = UUID()
            #expect(uuid.lowercaseText == uuid.uuidString.lowercased())
            #expect(UUID(text: uuid.lowercaseText.utf8) == uuid)
            #expect(UUID(text: uuid.uuidString.utf8) == uuid)
        }
    }

    @Test("random ids are unique")
    func randomIDs() { #expect(MessageID.random() != MessageID.random()) }

    @Test("the shard is the last byte's low six bits")
    func shard() throws {
        #expect(try #require(ConversationID(parsing: "00000000-0000-0000-0000-0000000000ff")).shard == 63)
        #expect(try #require(ConversationID(parsing: "00000000-0000-0000-0000-000000000041")).shard == 1)
    }

    @Test("positions on the wire are 8192 apart and rounded down to a change")
    func wirePositions() {
        #expect(Position(3).wireValue == 24576)
        #expect(Position(wireValue: 24576) == Position(3))
        #expect(Position(wireValue: 24575) == Position(2))
        #expect(Position(wireValue: 24577) == Position(3))
        #expect(Position(wireValue: -1) == .zero)
        #expect(Position(wireValue: Int64.max).rawValue > 0)
        #expect(Position.zero.next == Position(1))
        #expect(Position(1) < Position(2))
        #expect("\(Position(7))" == "7")
    }

    @Test("a time can be moved by durations of any sign and fraction")
    func timestamps() {
        let time = Timestamp(microseconds: 1_000_000)
        #expect(time.advanced(by: .seconds(2)).microseconds == 3_000_000)
        #expect(time.advanced(by: .milliseconds(-1500)).microseconds == -500_000)
        #expect(time.advanced(by: .nanoseconds(1500)).microseconds == 1_000_001)
        #expect(time < time.advanced(by: .microseconds(1)))
    }
}
