// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("packets about messages")
struct MessagePacketTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let id = MessageID.test(2)
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben
    private let early = "2018-05-04T09:32:00.000Z"
    private let late = "2018-05-04T09:33:00.000Z"

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.addMessages(2...3, in: chat)
    }

    private func applyTwice(_ packets: JSONValue...) throws -> StoreCore.Outcome<Void> {
        let outcome = try store.write { store in for packet in packets { try store.applyPacket(packet) } }
        #expect(try store.write { store in for packet in packets { try store.applyPacket(packet) } }.changes.isEmpty)
        return outcome
    }

    private func part(_ text: String, _ number: Int = 7, updatedAt: String? = nil) -> JSONValue {
        WireJSON.part(WireJSON.partID(of: .test(number)), of: id, text, updatedAt: updatedAt)
    }

    private var texts: [String?] { get throws { try store.message(id)?.parts.map(\.text) ?? [] } }

    @Test("messages are ordered independently of their arrival", .proves("SYNC-5", "MSG-5", "MSG-6"))
    func order() throws {
        for position in [9, 6, 7] {
            try store.apply(WireJSON.created(WireJSON.message(.test(position), in: chat, at: Int64(position))))
        }
        #expect(try store.messages(in: chat) == [.test(2), .test(3), .test(6), .test(7), .test(9)])
        #expect(try store.conversation(chat)?.lastMessage?.id == .test(9))
    }

    @Test("a sender without a user id has only a name", .proves("MSG-8"))
    func sender() throws {
        var object = WireJSON.message(.test(9), in: chat, at: 9)
        object["sender"] = ["id": nil, "user_id": nil, "display_name": "System"]
        _ = try applyTwice(WireJSON.created(object))
        let sender = try #require(try store.message(.test(9))?.sender)
        #expect(sender.userID == nil && sender.displayName == "System")
    }

    @Test("a message has the time of its first arrival on this device", .proves("MSG-7"))
    func receivedAt() throws {
        let object = WireJSON.message(.test(9), in: chat, at: 9)
        try store.apply(at: 5_000_000, WireJSON.created(object))
        try store.apply(at: 9_000_000, WireJSON.created(object))
        #expect(try store.message(.test(9))?.receivedAt == Date(timeIntervalSince1970: 5))
    }

    @Test(
        "statuses move forward only, and a read by this user marks the message as read",
        .proves("RCPT-1", "MSG-9", "RCPT-6"))
    func statuses() throws {
        let dotted = UserID(trusted: "c.d")
        _ = try applyTwice(
            WireJSON.updated(id, in: chat, at: 4, WireJSON.status("read", of: ana)),
            WireJSON.updated(
                id, in: chat, at: 5, WireJSON.status("delivered", of: ana), WireJSON.status("delivered", of: dotted)))
        let message = try #require(try store.message(id))
        #expect(message.recipientStatusByUserID == [ana: .read, ben: .read, dotted: .delivered])
        #expect(!message.isUnread)
        #expect(try store.progress(of: chat)?.applied == 5)
    }

    @Test("a repeated creation reverts no status")
    func createdAgain() throws {
        try store.apply(WireJSON.updated(id, in: chat, at: 4, WireJSON.status("read", of: ana)))
        #expect(try store.apply(WireJSON.created(WireJSON.message(id, in: chat, at: 2))).changes.isEmpty)
    }

    @Test("parts are added, replaced and removed", .proves("PART-10"))
    func parts() throws {
        let added: JSONValue = ["operation": "add", "property": "parts", "id": part("two")["id"], "value": part("two")]
        #expect(try applyTwice(WireJSON.updated(id, in: chat, at: 4, added)).words == ["message update parts"])
        #expect(try texts == ["hello", "two"])
        let removed: JSONValue = [
            "operation": "remove", "property": "parts",
            "id": .string(WireJSON.partLayerID(WireJSON.partID(of: id), of: id)),
        ]
        _ = try applyTwice(WireJSON.updated(id, in: chat, at: 5, removed, WireJSON.set("updated_at", .string(early))))
        #expect(try texts == ["two"])
        _ = try applyTwice(WireJSON.updated(id, in: chat, at: 6, WireJSON.set("parts", [part("a", 8), part("b", 9)])))
        #expect(try texts == ["a", "b"])
        #expect(try store.message(id)?.parts.map(\.index) == [0, 1])
    }

    @Test("a message of an erased sender stays in its place without parts, also if it arrives so")
    func erased() throws {
        let gone = WireJSON.updated(
            id, in: chat, at: 4, WireJSON.set("parts", []), WireJSON.set("updated_at", .string(late)))
        #expect(try applyTwice(gone).words == ["message update parts"])
        #expect(try texts == [] && store.message(id)?.parts == [])
        try store.apply(WireJSON.created(WireJSON.message(.test(9), in: chat, at: 5, parts: [])))
        #expect(try store.message(.test(9))?.parts == [])
    }

    @Test("parts of an earlier time are ignored")
    func oldParts() throws {
        try store.apply(
            WireJSON.updated(
                id, in: chat, at: 5, WireJSON.set("parts", [part("new")]), WireJSON.set("updated_at", .string(late))))
        let old = WireJSON.updated(
            id, in: chat, at: 4, WireJSON.set("parts", [part("old")]), WireJSON.set("updated_at", .string(early)))
        #expect(try store.apply(old).changes.isEmpty)
        #expect(
            try store.apply(WireJSON.created(WireJSON.message(id, in: chat, at: 2, parts: [part("oldest")]))).changes
                .isEmpty)
        #expect(try texts == ["new"])
    }

    @Test("a later creation replaces the parts, and one of the same time adds parts")
    func createdWithParts() throws {
        try store.apply(WireJSON.created(WireJSON.message(id, in: chat, at: 2, parts: [part("two")])))
        #expect(try Set(texts) == ["hello", "two"])
        try store.apply(
            WireJSON.created(WireJSON.message(id, in: chat, at: 2, parts: [part("only")], updatedAt: early)))
        #expect(try texts == ["only"])
    }

    @Test("an update changes all members of a part, unless it is older")
    func onePart() throws {
        let name = WireJSON.partLayerID(WireJSON.partID(of: id), of: id)
        func update(_ text: String, _ time: String, at position: Int64) -> JSONValue {
            let members: JSONValue = [
                WireJSON.set("body", .string(text)), WireJSON.set("mime_type", "text/html"),
                WireJSON.set("encoding", nil),
                WireJSON.set("content", nil), WireJSON.set("size", .integer(Int64(text.utf8.count))),
                WireJSON.set("updated_at", .string(time)),
            ]
            return WireJSON.change("update", "MessagePart", name, at: position, in: chat, members)
        }
        _ = try applyTwice(update("new", late, at: 5))
        #expect(try store.apply(update("old", early, at: 4)).changes.isEmpty)
        let part = try #require(try store.message(id)?.parts.first)
        #expect(part.text == "new" && part.mimeType == "text/html" && part.size == 3)
        #expect(try store.progress(of: chat)?.applied == 5)
    }

    @Test("content stored outside the message waits for its download", .proves("PART-4"))
    func content() throws {
        var rich = part("", 8)
        rich["body"] = nil
        rich["content"] = [
            "id": .string(ContentID.test(5).layerID), "download_url": "https://files.example.org/5",
            "expiration": .string(late),
        ]
        try store.apply(WireJSON.updated(id, in: chat, at: 4, WireJSON.set("parts", [rich])))
        let part = try #require(try store.message(id)?.parts.first)
        #expect(part.transferStatus == .readyForDownload && part.data == nil && part.contentID == .test(5))
    }

    @Test("an empty part is complete, and a base64 part is decoded", .proves("PART-3"))
    func bytes() throws {
        var encoded = part("AAEC", 8)
        encoded["encoding"] = "base64"
        try store.apply(WireJSON.updated(id, in: chat, at: 4, WireJSON.set("parts", [part("", 7), encoded])))
        let parts = try #require(try store.message(id)?.parts)
        #expect(parts.map(\.data) == [Data(), Data([0, 1, 2])])
        #expect(parts.allSatisfy { $0.transferStatus == .complete })
    }

    @Test("the last message of a conversation is stored like any other")
    func last() throws {
        let newer = WireJSON.message(.test(3), in: chat, at: 3, statuses: [ana: "read"])
        _ = try applyTwice(WireJSON.updated(chat, at: 5, WireJSON.set("last_message", newer)))
        #expect(try store.message(.test(3))?.isUnread == false)
        try store.apply(WireJSON.updated(chat, at: 6, WireJSON.set("last_message", nil)))
        #expect(try store.messages(in: chat) == [.test(2), .test(3)])
    }

    @Test("a deleted message disappears, and later packets about it are ignored", .proves("DEL-1", "DEL-3"))
    func deleted() throws {
        #expect(
            try applyTwice(WireJSON.deleted(.test(3), in: chat, at: 4)).words == [
                "conversation update lastMessage", "message delete",
            ])
        #expect(
            try store.apply(WireJSON.updated(.test(3), in: chat, at: 5, WireJSON.status("read", of: ana))).changes
                .isEmpty)
        #expect(try store.messages(in: chat) == [.test(2)])
        #expect(try store.contents()["part"]?.count == 1)
    }

    @Test("an update of an unknown message is ignored")
    func unknown() throws {
        #expect(
            try store.apply(WireJSON.updated(.test(99), in: chat, at: 5, WireJSON.status("read", of: ana))).changes
                .isEmpty)
        #expect(try store.message(.test(99)) == nil)
        #expect(try store.progress(of: chat)?.applied == 5)
    }
}
