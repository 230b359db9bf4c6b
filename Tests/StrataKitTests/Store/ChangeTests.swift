// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("batches of changes")
struct ChangeTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.addMessages(2...3, in: chat, unread: 0)
        try store.apply(WireJSON.allRead(chat, by: WireJSON.ana, upTo: 3, at: 4))
    }

    @Test(
        "a new message changes its conversation's last message, unread count and both totals",
        .proves("CHG-8", "CHG-7", "SYNC-18"))
    func newMessage() throws {
        let outcome = try store.apply(
            WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)),
            WireJSON.counts(of: chat, at: 5, unread: 1, total: 3))
        #expect(
            outcome.words == [
                "message create", "conversation update lastMessage", "conversation update hasUnreadMessages",
                "conversation update totalNumberOfMessages", "conversation update totalNumberOfUnreadMessages",
            ])
        #expect(
            outcome.update("lastMessage")?.before == .message(.test(3))
                && outcome.update("lastMessage")?.after == .message(.test(5)))
        #expect(outcome.update("hasUnreadMessages")?.after == .bool(true))
        #expect(outcome.update("totalNumberOfMessages")?.before == .int(2))
        #expect(outcome.update("totalNumberOfUnreadMessages")?.after == .int(1))
    }

    @Test(
        "a second unread message does not change hasUnreadMessages, and an own one no unread count",
        .proves("CHG-8", "CHG-6"))
    func furtherMessages() throws {
        try store.apply(
            WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)),
            WireJSON.counts(of: chat, at: 5, unread: 1, total: 3))
        let own = WireJSON.message(.test(6), in: chat, at: 6, from: WireJSON.ana)
        let outcome = try store.apply(WireJSON.created(own), WireJSON.counts(of: chat, at: 6, unread: 1, total: 4))
        #expect(
            outcome.words == [
                "message create", "conversation update lastMessage", "conversation update totalNumberOfMessages",
            ])
    }

    @Test("creations precede updates, updates precede deletions, and conversations precede messages", .proves("CHG-5"))
    func order() throws {
        let outcome = try store.apply(
            WireJSON.deleted(.test(2), in: chat, at: 5),
            WireJSON.updated(.test(3), in: chat, at: 6, WireJSON.status("read", of: WireJSON.cleo)),
            WireJSON.updated(chat, at: 7, WireJSON.set("metadata.a", "b")),
            WireJSON.created(WireJSON.message(.test(8), in: chat, at: 8)),
            WireJSON.created(WireJSON.conversation(.test(2), participants: [WireJSON.ana, WireJSON.cleo])))
        #expect(
            outcome.words == [
                "identity create", "conversation create", "message create", "conversation update metadata",
                "conversation update lastMessage",
                "conversation update hasUnreadMessages", "message update recipientStatusByUserID", "message delete",
            ])
    }

    @Test(
        "an object created and updated in one batch is one creation; one created and deleted is no change",
        .proves("CHG-6"))
    func within() throws {
        let outcome = try store.apply(
            WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)),
            WireJSON.updated(.test(5), in: chat, at: 6, WireJSON.status("read", of: WireJSON.cleo)),
            WireJSON.created(WireJSON.message(.test(7), in: chat, at: 7)), WireJSON.deleted(.test(7), in: chat, at: 8))
        #expect(outcome.words.filter { $0.hasPrefix("message") } == ["message create"])
        let created = outcome.changes.compactMap { change in
            if case .message(let message) = change.object { message } else { nil }
        }
        #expect(created.first?.recipientStatusByUserID[WireJSON.cleo] == .read)
    }

    @Test("values that revert within a batch publish nothing", .proves("CHG-6"))
    func backAgain() throws {
        let outcome = try store.apply(
            WireJSON.updated(chat, at: 5, WireJSON.set("metadata.a", "b")),
            WireJSON.updated(chat, at: 6, WireJSON.delete("metadata.a")))
        #expect(outcome.changes.isEmpty)
    }

    @Test(
        "each changed property is a separate change, with the object after all of them",
        .proves("CHG-1", "SYNC-17", "SYNC-19"))
    func properties() throws {
        let outcome = try store.apply(
            WireJSON.updated(chat, at: 5, WireJSON.set("metadata.a", "b"), WireJSON.set("distinct", true)))
        #expect(outcome.words == ["conversation update metadata", "conversation update isDistinct"])
        for change in outcome.changes {
            switch (change.object, change.kind) {
            case (.conversation(let conversation), .update):
                #expect(conversation.metadata["a"] == "b" && conversation.isDistinct)
            default: Issue.record("\(change)")
            }
        }
    }

    @Test("a deletion has the object's last state, marked as deleted", .proves("CHG-1", "DEL-3"))
    func deletion() throws {
        let outcome = try store.apply(WireJSON.deleted(chat))
        let deleted = outcome.changes.compactMap { change in
            if case .conversation(let conversation) = change.object { conversation } else { nil }
        }
        #expect(deleted.map(\.isDeleted) == [true])
        #expect(deleted.first?.lastMessage?.id == .test(3))
    }

    @Test("published changes agree with the store", .proves("CHG-4", "STORE-5"))
    func stored() throws {
        let outcome = try store.apply(WireJSON.updated(chat, at: 5, WireJSON.set("metadata.a", "b")))
        guard case .conversation(let published)? = outcome.changes.first?.object else {
            throw StrataError(.unknown, "no change")
        }
        #expect(try store.conversation(chat) == published)
    }
}
