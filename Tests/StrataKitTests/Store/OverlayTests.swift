// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("the visible state: server state with pending changes on top")
struct OverlayTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat, metadata: ["title": "Lunch"])
        try store.addMessages(2...3, in: chat)
    }

    private func metadata(at position: Int64, _ path: String, _ value: String) -> JSONValue {
        WireJSON.updated(chat, at: position, WireJSON.set("metadata.\(path)", .string(value)))
    }

    @Test("a pending value hides arriving values of its key, above it and below it", .proves("META-33", "OFF-8"))
    func metadata() throws {
        try store.set("title", "mine", in: chat)
        try store.set("a.b", "mine", in: chat)
        try store.apply(
            metadata(at: 4, "title", "theirs"), metadata(at: 5, "a.b.c", "theirs"), metadata(at: 6, "other", "theirs"))
        #expect(try store.metadata(of: chat) == ["title": "mine", "a.b": "mine", "other": "theirs"])
        try store.apply(metadata(at: 7, "a", "theirs"))
        #expect(try store.metadata(of: chat)?["a.b"] == "mine")
        try store.refuse(store.queue[0])
        #expect(try store.metadata(of: chat) == ["title": "theirs", "a": "theirs", "other": "theirs"])
    }

    @Test("arriving values below a pending change publish nothing", .proves("CHG-6", "META-33"))
    func silent() throws {
        try store.set("title", "mine", in: chat)
        #expect(try store.apply(metadata(at: 4, "title", "theirs")).changes.isEmpty)
    }

    @Test("a pending deletion hides a message despite arriving packets", .proves("OFF-8"))
    func deletedMessage() throws {
        try store.write { try $0.deleteMessage(.test(2), mode: .allParticipants) }
        let outcome = try store.apply(
            WireJSON.updated(.test(2), in: chat, at: 4, WireJSON.status("read", of: WireJSON.cleo)),
            WireJSON.created(WireJSON.message(.test(2), in: chat, at: 2)))
        #expect(outcome.changes.isEmpty)
        #expect(try store.messages(in: chat) == [.test(3)])
        try store.refuse(store.queue[0])
        #expect(try store.message(.test(2))?.recipientStatusByUserID[WireJSON.cleo] == .read)
    }

    @Test("pending receipts count in addition to the server's counts", .proves("SYNC-70", "OFF-8"))
    func counts() throws {
        try store.write { try $0.markRead([.test(2)], in: chat) }
        try store.apply(
            WireJSON.created(WireJSON.message(.test(4), in: chat, at: 4)),
            WireJSON.counts(of: chat, at: 4, unread: 3, total: 3))
        let conversation = try #require(try store.conversation(chat))
        #expect(conversation.totalUnreadMessageCount == 2 && conversation.totalMessageCount == 3)
        #expect(conversation.hasUnreadMessages)
    }

    @Test("pending changes apply to arriving participants", .proves("OFF-8"))
    func participants() throws {
        try store.write { try $0.changeParticipants([.init(user: WireJSON.ben, isAdded: false)], in: chat) }
        try store.apply(WireJSON.updated(chat, at: 4, WireJSON.add(WireJSON.cleo)))
        #expect(try store.participants(of: chat) == [WireJSON.ana, WireJSON.cleo])
        try store.apply(WireJSON.updated(chat, at: 5, WireJSON.remove(WireJSON.ana)))
        #expect(try store.participants(of: chat) == [])
    }

    @Test("server state and pending changes survive the end of the app separately", .proves("OFF-1", "STORE-1"))
    func reopened() throws {
        try store.set("title", "mine", in: chat)
        try store.write { try $0.markRead([.test(2)], in: chat) }
        try store.reopen()
        #expect(try store.metadata(of: chat) == ["title": "mine"])
        for operation in store.queue { try store.refuse(operation) }
        #expect(try store.metadata(of: chat) == ["title": "Lunch"])
        #expect(try store.message(.test(2))?.isUnread == true)
        #expect(try store.contents()["conversation_server"]?.isEmpty == true)
        #expect(try store.contents()["message_server"]?.isEmpty == true)
    }
}
