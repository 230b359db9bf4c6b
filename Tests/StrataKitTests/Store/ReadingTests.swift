// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("marking as read")
struct ReadingTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
    }

    @discardableResult
    private func read(_ ids: MessageID...) throws -> StoreCore.Outcome<Int> {
        try store.write { try $0.markRead(ids, in: chat) }
    }

    private var receipts: [LocalChange] { store.pending.filter { if case .markRead = $0 { true } else { false } } }

    @Test(
        "marking all as read marks only stored messages: with 1 of 10 stored, the count drops by 1",
        .proves("SYNC-10", "RCPT-5", "SYNC-70"))
    func partly() throws {
        try store.apply(WireJSON.counts(of: chat, at: 11, unread: 10, total: 10))
        try store.apply(WireJSON.created(WireJSON.message(.test(11), in: chat, at: 11)))
        let outcome = try store.write { store in try store.markRead(try store.unreadMessages(in: chat), in: chat) }
        #expect(outcome.value == 1)
        let conversation = try #require(try store.conversation(chat))
        #expect(conversation.totalUnreadMessageCount == 9 && !conversation.hasUnreadMessages)
        #expect(try store.message(.test(11))?.isUnread == false)
        #expect(receipts == [.markRead([.test(11)])])
    }

    @Test("a read message is published with its status", .proves("RCPT-6", "RCPT-5"))
    func published() throws {
        try store.addMessages(2...2, in: chat)
        #expect(
            try read(.test(2)).words == [
                "conversation update hasUnreadMessages", "conversation update totalNumberOfUnreadMessages",
                "message update isUnread",
                "message update recipientStatusByUserID",
            ])
        #expect(try store.message(.test(2))?.recipientStatusByUserID[WireJSON.ana] == .read)
    }

    @Test("own messages and those already read are skipped", .proves("RCPT-4"))
    func passedOver() throws {
        try store.addMessages(2...3, in: chat)
        try store.apply(WireJSON.created(WireJSON.message(.test(4), in: chat, at: 4, from: WireJSON.ana)))
        #expect(try read(.test(2), .test(2)).value == 1)
        #expect(try read(.test(2), .test(4)).value == 0)
        #expect(receipts == [.markRead([.test(2)])])
        #expect(try store.conversation(chat)?.totalUnreadMessageCount == 1)
    }

    @Test("a deleted or unsent message, and one of a deleted conversation, throws", .proves("RCPT-7"))
    func refused() throws {
        try store.addMessages(2...2, in: chat)
        try store.send(.test(10), in: chat)
        #expect(store.code { try read(.test(10)) } == .objectNotSent)
        #expect(store.code { try read(.test(9)) } == .messageDeleted)
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(store.code { try read(.test(2)) } == .conversationDeleted)
    }

    @Test("several receipts are sent together, at most 1000 per request")
    func together() throws {
        try store.addMessages(2...1103, in: chat)
        try read(.test(2))
        try store.write { store in try store.markRead(try store.unreadMessages(in: chat), in: chat) }
        let counts = receipts.map { if case .markRead(let ids) = $0 { ids.count } else { 0 } }
        #expect(counts == [1000, 102])
        #expect(try store.conversation(chat)?.totalUnreadMessageCount == 0)
    }

    @Test("all unread messages of all conversations are found, except in hidden ones")
    func everywhere() throws {
        try store.addConversation(.test(2))
        try store.apply(WireJSON.created(WireJSON.message(.test(20), in: .test(2), at: 2)))
        try store.addMessages(2...3, in: chat)
        // The conversation of message 30 is unknown; the message arrives with it later.
        try store.apply(WireJSON.created(WireJSON.message(.test(30), in: .test(3), at: 2)))
        let unread = try store.write { try $0.unreadMessages() }.value
        #expect(unread == [chat: [.test(2), .test(3)], .test(2): [.test(20)]])
    }

    @Test("a refused receipt is reverted without a report", .proves("RCPT-1"))
    func undone() throws {
        try store.addMessages(2...2, in: chat)
        try read(.test(2))
        let operation = try #require(store.queue.last { if case .markRead = $0.change { true } else { false } })
        let outcome = try store.refuse(operation)
        #expect(try store.message(.test(2))?.isUnread == true)
        #expect(try store.conversation(chat)?.totalUnreadMessageCount == 1)
        #expect(outcome.findings.failures.isEmpty)
    }

    @Test(
        "delivery is confirmed automatically, once, for others' messages that are neither delivered nor read",
        .proves("RCPT-3", "SYNC-69"))
    func delivery() throws {
        func message(_ number: Int, _ status: String, from sender: UserID = WireJSON.ben) -> [UserID: String] {
            sender == WireJSON.ben ? [WireJSON.ana: status, WireJSON.ben: "read"] : [WireJSON.ana: status]
        }
        for (number, status) in [(2, "sent"), (3, "delivered"), (4, "read"), (5, "sent")] {
            let object = WireJSON.message(.test(number), in: chat, at: Int64(number), statuses: message(number, status))
            try store.apply(WireJSON.created(object), WireJSON.created(object))
        }
        #expect(store.pending == [.confirmDelivery([.test(2), .test(5)])])
    }

    @Test("delivery is not confirmed if delivery receipts are disabled, or after leaving", .proves("RCPT-8", "RCPT-3"))
    func noDelivery() throws {
        let sent = [WireJSON.ana: "sent"]
        try store.apply(
            WireJSON.created(WireJSON.conversation(.test(2), deliveryReceipts: false)),
            WireJSON.created(WireJSON.message(.test(20), in: .test(2), at: 2, statuses: sent)),
            WireJSON.updated(chat, at: 2, WireJSON.remove(WireJSON.ana)),
            WireJSON.created(WireJSON.message(.test(3), in: chat, at: 3, statuses: sent)))
        #expect(store.queue.isEmpty)
    }
}
