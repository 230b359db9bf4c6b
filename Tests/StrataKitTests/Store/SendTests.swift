// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("sending a message")
struct SendTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
    }

    @Test("a message has sender, times and statuses at once, and no position", .proves("MSG-3", "MSG-9", "RCPT-2"))
    func shown() throws {
        try store.send(.test(1), in: chat)
        let message = try #require(try store.message(.test(1)))
        #expect(message.sender.userID == WireJSON.ana)
        #expect(message.sentAt == StoreFixture.now.date && message.receivedAt == StoreFixture.now.date)
        #expect(!message.isUnread && !message.isSent && message.position == nil)
        #expect(message.recipientStatusByUserID == [WireJSON.ana: .read])
        let participants: Set = [WireJSON.ana, WireJSON.ben]
        #expect(message.recipientStatus(for: WireJSON.ben, participants: participants) == .pending)
        #expect(message.recipientStatus(for: WireJSON.cleo, participants: participants) == .invalid)
    }

    @Test("unsent messages follow all others, in the order of sending", .proves("MSG-5", "CONV-38"))
    func order() throws {
        try store.send(.test(20), in: chat)
        try store.send(.test(10), in: chat)
        try store.addMessages(2...3, in: chat)
        #expect(try store.messages(in: chat) == [.test(2), .test(3), .test(20), .test(10)])
        #expect(try store.conversation(chat)?.lastMessage?.id == .test(10))
    }

    @Test("an accepted message is ordered by position, and unsent ones stay behind it", .proves("MSG-4", "MSG-5"))
    func accepted() throws {
        try store.send(.test(20), in: chat)
        try store.send(.test(10), in: chat)
        let object = WireJSON.message(.test(20), in: chat, at: 4, from: WireJSON.ana)
        try store.succeed(store.queue[0], object: object)
        try store.addMessages(5...5, in: chat)
        let message = try #require(try store.message(.test(20)))
        #expect(message.isSent && message.position == 4 * Position.wireStep)
        #expect(message.recipientStatusByUserID[WireJSON.ben] == .sent)
        #expect(message.sentAt != StoreFixture.now.date && message.receivedAt == StoreFixture.now.date)
        #expect(try store.messages(in: chat) == [.test(20), .test(5), .test(10)])
    }

    @Test("the totals count a message from its sending, once", .proves("SYNC-70"))
    func total() throws {
        try store.send(.test(20), in: chat)
        #expect(try store.conversation(chat)?.totalMessageCount == 1)
        try store.succeed(store.queue[0], object: WireJSON.message(.test(20), in: chat, at: 2, from: WireJSON.ana))
        #expect(try store.conversation(chat)?.totalMessageCount == 1)
        let message = WireJSON.message(.test(20), in: chat, at: 2, from: WireJSON.ana)
        try store.apply(WireJSON.created(message), WireJSON.counts(of: chat, at: 2, unread: 0, total: 1))
        #expect(try store.conversation(chat)?.totalMessageCount == 1)
    }

    @Test("a message can be sent once", .proves("MSG-1"))
    func once() throws {
        try store.send(.test(1), in: chat)
        #expect(store.code { try store.send(.test(1), in: chat) } == .invalidMessage)
        try store.addMessages(2...2, in: chat)
        #expect(store.code { try store.send(.test(2), in: chat) } == .invalidMessage)
        #expect(store.pendingNames == ["sendMessage"])
    }

    @Test("an unknown, deleted or left conversation refuses a message", .proves("MSG-2", "CONV-39", "CONV-40"))
    func refused() throws {
        #expect(store.code { try store.send(.test(1), in: .test(9)) } == .conversationDeleted)
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(store.code { try store.send(.test(1), in: chat) } == .conversationDeleted)
        try store.addConversation(.test(2))
        try store.apply(WireJSON.updated(.test(2), at: 2, WireJSON.remove(WireJSON.ana)))
        #expect(store.code { try store.send(.test(1), in: .test(2)) } == .userNotAParticipant)
        #expect(store.pendingNames == ["deleteConversation"])
    }

    @Test("a call that throws changes nothing, on disk or in memory", .proves("STORE-5"))
    func atomic() throws {
        let (before, queue) = (try store.contents(), store.queue)
        #expect(throws: StrataError.self) {
            try store.write { transaction in
                try transaction.sendMessage(StoreFixture.newMessage(.test(1)), in: chat)
                try transaction.patchMetadata([StoreFixture.step("a", "1")], in: chat)
                try transaction.sendMessage(StoreFixture.newMessage(.test(1)), in: chat)
            }
        }
        #expect(try store.contents() == before)
        #expect(store.queue == queue)
        try store.send(.test(1), in: chat)
        #expect(store.pendingNames == ["sendMessage"])
    }

    @Test("a message and its place in the queue survive the end of the app", .proves("OFF-1", "STORE-5", "SYNC-12"))
    func durable() throws {
        try store.send(.test(1), in: chat)
        let queue = store.queue
        try store.reopen()
        #expect(store.queue == queue)
        #expect(try store.messages(in: chat) == [.test(1)])
    }
}
