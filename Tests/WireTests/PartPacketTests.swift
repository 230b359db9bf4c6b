// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import Testing

@testable import StrataWire

@Suite struct PartPacketTests {
    private static let other = "11111111-0d8c-4f2c-9b0e-0f4d0c1b2a3d"
    private static let time = "2018-05-04T09:30:00.125Z"

    private func edited() -> Message {
        var message = sampleMessage(parts: [
            MessagePart(id: uuid(partUUID), mimeType: "text/plain", body: "at 9", size: 4, updatedAt: created),
            MessagePart(
                id: uuid(Self.other), mimeType: "image/png", body: nil, size: 48_213,
                contentID: ContentID(rawValue: uuid(conversationUUID))),
        ])
        message.updatedAt = created
        return message
    }

    private func packets(
        _ edits: [Change.PartEdit], _ version: WireVersion, for reader: UserID = ben.userID
    ) -> [JSONValue] {
        let change = sampleChange(.partsChanged(id: messageID, ordinal: 1, edits, edited()))
        return renderer.tails(for: change, variant: Variant(of: change, for: reader, version: version))
            .map { packet($0, reader: reader) }
    }

    @Test("rich content is shown with its download location")
    func content() {
        let value = written { renderer.writeMessage(edited(), for: ben.userID, version: .v3, into: &$0) }["parts"]?[1]
        let id = conversationUUID
        #expect(
            value
                == json(
                    """
                    {"id":"layer:///messages/\(messageUUID)/parts/\(Self.other)","url":"https://chat.example.org/messages/\(messageUUID)/parts/\(Self.other)",
                     "message_url":"https://chat.example.org/messages/\(messageUUID)","mime_type":"image/png","content":{"id":"layer:///content/\(id)",
                     "size":48213,"download_url":"https://chat.example.org/d/\(id)","expiration":"\(Self.time)",
                     "refresh_url":"https://chat.example.org/content/\(id)"},"size":48213}
                    """))
    }

    @Test("a changed part updates the part and its message's time")
    func changed() {
        let sent = packets([.changed(uuid(partUUID))], .v3)
        let part = "layer:///messages/\(messageUUID)/parts/\(partUUID)"
        #expect(sent.count == 2)
        #expect(sent.first?["body"]?["object"]?["type"] == .string("MessagePart"))
        #expect(sent.first?["body"]?["object"]?["id"] == .string(part))
        #expect(sent.first?["body"]?["conversation"]?["id"] == .string("layer:///conversations/\(conversationUUID)"))
        let set = sent.first?["body"]?["data"]?.arrayValue?
            .reduce(into: [String: JSONValue]()) { $0[$1["property"]?.stringValue ?? ""] = $1["value"] }
        #expect(
            set == [
                "mime_type": .string("text/plain"), "body": .string("at 9"), "encoding": .null, "content": .null,
                "size": .integer(4),
                "updated_at": .string(Self.time),
            ])
        #expect(
            sent.last?["body"]?["data"]
                == json(#"[{"operation":"set","property":"updated_at","value":"\#(Self.time)"}]"#))
    }

    @Test("added, removed and replaced parts are operations on the message's list")
    func list() {
        let added = packets([.added(uuid(Self.other))], .v3).first?["body"]
        #expect(added?["operation"] == .string("update") && added?["object"]?["type"] == .string("Message"))
        #expect(added?["data"]?[0]?["operation"] == .string("add"))
        #expect(added?["data"]?[0]?["id"] == added?["data"]?[0]?["value"]?["id"])
        #expect(added?["data"]?[1]?["property"] == .string("updated_at"))
        let removed = packets([.removed(uuid(conversationUUID), index: 2)], .v3).first?["body"]?["data"]
        #expect(
            removed?[0]
                == json(
                    #"{"operation":"remove","property":"parts","id":"layer:///messages/\#(messageUUID)/parts/\#(conversationUUID)"}"#
                ))
        let replaced = packets([.allReplaced], .v3).first?["body"]?["data"]?[0]
        #expect(replaced?["operation"] == .string("set") && replaced?["value"]?.arrayValue?.count == 2)
        // The part has been removed since. Its removal is later in the log.
        #expect(packets([.added(uuid(conversationUUID))], .v3).isEmpty)
        let gone = sampleChange(.partsChanged(id: messageID, ordinal: 1, [.allReplaced], nil))
        #expect(renderer.tails(for: gone, variant: Variant(of: gone, for: ben.userID, version: .v3)).isEmpty)
    }

    @Test("2.0 clients receive the whole message, in each user's view")
    func version2() {
        for reader in [ana.userID, ben.userID] {
            let sent = packets([.changed(uuid(partUUID))], .v2, for: reader)
            #expect(sent.count == 1 && sent.first?["body"]?["operation"] == .string("create"))
            #expect(
                sent.first?["body"]?["data"]
                    == written { renderer.writeMessage(edited(), for: reader, version: .v2, into: &$0) })
        }
    }
}
