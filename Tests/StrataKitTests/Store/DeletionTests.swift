// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("deletions")
struct DeletionTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.addMessages(2...4, in: chat)
    }

    @Test(
        "a deleted message disappears at once, with its counts and the last message", .proves("DEL-3", "DEL-1"),
        arguments: [DeletionMode.myDevices, .allParticipants])
    func message(_ mode: DeletionMode) throws {
        let outcome = try store.write { try $0.deleteMessage(.test(4), mode: mode) }
        #expect(try store.messages(in: chat) == [.test(2), .test(3)])
        let conversation = try #require(try store.conversation(chat))
        #expect(conversation.totalMessageCount == 2 && conversation.totalUnreadMessageCount == 2)
        #expect(conversation.lastMessage?.id == .test(3))
        #expect(outcome.words.last == "message delete")
        #expect(
            outcome.changes.last.map { if case .message(let deleted) = $0.object { deleted.isDeleted } else { false } }
                == true)
        #expect(store.pending == [.deleteMessage(.test(4), mode)])
    }

    @Test("an unsent message disappears, and a message being sent is deleted afterwards", .proves("DEL-3", "OFF-4"))
    func unsent() throws {
        try store.send(.test(10), in: chat)
        try store.write { try $0.deleteMessage(.test(10), mode: .allParticipants) }
        #expect(store.queue.isEmpty)
        try store.send(.test(11), in: chat)
        try store.attempt(store.queue[0])
        try store.write { try $0.deleteMessage(.test(11), mode: .allParticipants) }
        #expect(store.pendingNames == ["sendMessage", "deleteMessage"])
        #expect(try store.message(.test(11)) == nil)
        #expect(try store.conversation(chat)?.totalMessageCount == 3)
    }

    @Test("a message that was marked as read before its deletion counts once", .proves("SYNC-70"))
    func readAndDeleted() throws {
        try store.write { try $0.markRead([.test(4)], in: chat) }
        try store.write { try $0.deleteMessage(.test(4), mode: .myDevices) }
        #expect(try store.conversation(chat)?.totalUnreadMessageCount == 2)
    }

    @Test("a conversation is deleted with its messages, each as a change", .proves("DEL-4", "DEL-3", "CHG-5"))
    func conversation() throws {
        let outcome = try store.write { try $0.deleteConversation(chat, mode: .allParticipants) }
        #expect(outcome.words == ["conversation delete", "message delete", "message delete", "message delete"])
        #expect(try store.conversation(chat) == nil && store.messages(in: chat).isEmpty)
        #expect(store.pending == [.deleteConversation(.allParticipants, upTo: 4, leaves: false)])
    }

    @Test("a conversation without messages can be deleted")
    func empty() throws {
        try store.addConversation(.test(2))
        #expect(
            try store.write { try $0.deleteConversation(.test(2), mode: .myDevices) }.words == ["conversation delete"])
    }

    @Test("the deletion of a conversation drops its unsent changes")
    func dropped() throws {
        try store.set("title", "A", in: chat)
        try store.send(.test(10), in: chat)
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(store.pendingNames == ["deleteConversation"])
    }

    @Test("a second deletion throws", .proves("DEL-5", "CONV-39"))
    func twice() throws {
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(
            store.code { try store.write { try $0.deleteConversation(chat, mode: .myDevices) } }
                == .conversationAlreadyDeleted)
        #expect(store.code { try store.write { try $0.deleteMessage(.test(2), mode: .myDevices) } } == .messageDeleted)
        #expect(store.pending.count == 1)
    }

    @Test("leaving reaches the server, and the conversation disappears", .proves("CONV-41"))
    func leaving() throws {
        try store.write { try $0.deleteConversation(chat, mode: .myDevices, leaves: true) }
        #expect(try store.conversation(chat) == nil)
        #expect(store.pending == [.deleteConversation(.myDevices, upTo: 4, leaves: true)])
    }

    @Test("a former participant deletes for their own devices only, and cannot leave", .proves("DEL-2", "CONV-41"))
    func former() throws {
        try store.apply(WireJSON.updated(chat, at: 5, WireJSON.remove(WireJSON.ana)))
        #expect(
            store.code { try store.write { try $0.deleteMessage(.test(2), mode: .allParticipants) } }
                == .userNotAParticipant)
        #expect(
            store.code { try store.write { try $0.deleteConversation(chat, mode: .allParticipants) } }
                == .userNotAParticipant)
        #expect(
            store.code { try store.write { try $0.deleteConversation(chat, mode: .myDevices, leaves: true) } }
                == .userNotAParticipant)
        try store.write { try $0.deleteMessage(.test(2), mode: .myDevices) }
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(try store.conversation(chat) == nil)
    }

    @Test("a message after the deletion restores the conversation, which can then be changed", .proves("CONV-42"))
    func back() throws {
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        let outcome = try store.apply(WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)))
        #expect(outcome.words == ["conversation create", "message create"])
        #expect(try store.messages(in: chat) == [.test(5)])
        try store.send(.test(10), in: chat)
        #expect(try store.messages(in: chat) == [.test(5), .test(10)])
    }

    @Test("own messages in transit are deleted too, also after the server has them", .proves("DEL-3"))
    func inFlight() throws {
        try store.send(.test(10), in: chat)
        try store.attempt(store.queue[0])
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        #expect(store.pendingNames == ["sendMessage", "deleteMessage", "deleteConversation"])
        let object = WireJSON.message(.test(10), in: chat, at: 5, from: WireJSON.ana)
        try store.succeed(store.queue[0], object: object)
        try store.apply(WireJSON.created(object), WireJSON.counts(of: chat, at: 5, unread: 3, total: 4))
        #expect(try store.conversation(chat) == nil && store.message(.test(10)) == nil)
    }

    @Test("a conversation whose creation is in transit is deleted up to the creation", .proves("DEL-3"))
    func creationInFlight() throws {
        let draft = try store.write { try $0.createDraft(StoreFixture.newConversation()) }.value
        try store.send(.test(10), in: draft)
        for operation in store.queue { try store.attempt(operation) }
        try store.write { try $0.deleteConversation(draft, mode: .myDevices) }
        #expect(store.pending.last == .deleteConversation(.myDevices, upTo: 1, leaves: false))
        #expect(try store.conversation(draft) == nil)
    }

    @Test("deleting an object that the server no longer has succeeds", .proves("DEL-5", "OFF-7"))
    func deletedMeanwhile() throws {
        try store.write { try $0.deleteMessage(.test(4), mode: .allParticipants) }
        let message = try store.refuse(store.queue[0], .conversationDeleted)
        #expect(message.findings.failures.isEmpty)
        #expect(try store.message(.test(4)) == nil)
        try store.write { try $0.deleteConversation(chat, mode: .allParticipants) }
        let conversation = try store.refuse(store.queue[0], .conversationDeleted)
        #expect(conversation.findings.failures.isEmpty && store.queue.isEmpty)
        #expect(try store.conversation(chat) == nil)
    }

    @Test("a refused deletion is reverted", .proves("OFF-6"))
    func refused() throws {
        try store.write { try $0.deleteConversation(chat, mode: .allParticipants) }
        let outcome = try store.refuse(store.queue[0], .userNotAParticipant)
        #expect(outcome.words.first == "conversation create")
        #expect(try store.messages(in: chat) == [.test(2), .test(3), .test(4)])
        #expect(outcome.findings.failures.count == 1)
    }
}
