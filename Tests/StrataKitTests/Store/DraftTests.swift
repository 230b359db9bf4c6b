// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("an unsent conversation")
struct DraftTests {
    private let store: StoreFixture
    private let draft: ConversationID

    init() throws {
        let store = try StoreFixture()
        self.store = store
        draft = try store.write { try $0.createDraft(StoreFixture.newConversation(metadata: ["title": "Lunch"])) }.value
    }

    @Test("a draft is not shown, published or sent", .proves("CONV-7", "CONV-9", "CONV-35"))
    func hidden() throws {
        let made = try store.write { try $0.createDraft(StoreFixture.newConversation()) }
        #expect(made.changes.isEmpty)
        #expect(try store.conversation(made.value) == nil)
        var schedule = OutgoingSchedule()
        #expect(schedule.nextSteps(for: store.core.queue, hasSocket: true, now: .now).isEmpty)
    }

    @Test(
        "a draft accepts metadata and participants, which its creation sends",
        .proves("CONV-36", "META-35", "META-12", "OFF-4"))
    func folded() throws {
        try store.set("theme.color", "FFF", in: draft)
        try store.write { try $0.patchMetadata([StoreFixture.step("title", nil)], in: draft) }
        try store.write { try $0.changeParticipants([.init(user: WireJSON.cleo, isAdded: true)], in: draft) }
        let new = StoreFixture.newConversation(
            [WireJSON.ana, WireJSON.ben, WireJSON.cleo], metadata: ["theme.color": "FFF"])
        #expect(store.pending == [.createConversation(new)])
    }

    @Test("a draft is shown and created with its first message", .proves("CONV-7", "CONV-35", "META-36"))
    func firstMessage() throws {
        let sent = try store.send(.test(1), in: draft)
        #expect(sent.words == ["conversation create", "message create"])
        let shown = try #require(try store.conversation(draft))
        #expect(shown.metadata["title"] == "Lunch")
        #expect(shown.lastMessage?.id == .test(1))
        #expect(shown.totalMessageCount == 1)
        #expect(store.pendingNames == ["createConversation", "sendMessage"])
        #expect(store.queue.allSatisfy { $0.state == .waiting })
    }

    @Test("a draft has this device's time", .proves("CONV-37"))
    func createdAt() throws {
        try store.send(.test(1), in: draft)
        #expect(try store.conversation(draft)?.createdAt == StoreFixture.now.date)
    }

    @Test("a draft is forgotten when the app ends, and a sent conversation is not", .proves("CONV-35", "OFF-1"))
    func reopened() throws {
        let other = try store.write { try $0.createDraft(StoreFixture.newConversation()) }.value
        try store.send(.test(1), in: other)
        try store.reopen()
        #expect(store.pendingNames == ["createConversation", "sendMessage"])
        #expect(try store.core.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM conversation") } == 1)
        #expect(store.code { try store.send(.test(2), in: draft) } == .conversationDeleted)
        try store.send(.test(3), in: other)
        #expect(try store.messages(in: other) == [.test(1), .test(3)])
    }

    @Test("a deleted draft disappears without a request, with all its pending changes", .proves("DEL-3", "OFF-4"))
    func deleted() throws {
        try store.send(.test(1), in: draft)
        let deletion = try store.write { try $0.deleteConversation(draft, mode: .allParticipants) }
        #expect(store.queue.isEmpty)
        #expect(deletion.words == ["conversation delete", "message delete"])
        #expect(try store.message(.test(1)) == nil)
    }

    @Test("a conversation is a draft again when its only message is deleted before sending", .proves("CONV-7"))
    func messageDeleted() throws {
        try store.send(.test(1), in: draft)
        let deletion = try store.write { try $0.deleteMessage(.test(1), mode: .myDevices) }
        #expect(deletion.words == ["conversation delete", "message delete"])
        #expect(store.queue.map(\.state) == [.draft])
        try store.send(.test(2), in: draft)
        #expect(try store.conversation(draft)?.lastMessage?.id == .test(2))
    }

    @Test("a distinct draft is found by its participants, and a deleted one is not")
    func distinct() throws {
        let new = StoreFixture.newConversation(isDistinct: true)
        let id = try store.write { try $0.createDraft(new) }.value
        #expect(try store.write { try $0.distinctConversation(of: new.participants)?.id }.value == id)
        try store.write { try $0.deleteConversation(id, mode: .myDevices) }
        #expect(try store.write { try $0.distinctConversation(of: new.participants)?.id }.value == nil)
        try store.apply(WireJSON.created(WireJSON.conversation(.test(1), isDistinct: true)))
        #expect(try store.write { try $0.distinctConversation(of: new.participants)?.id }.value == .test(1))
        try store.write { try $0.deleteConversation(.test(1), mode: .myDevices) }
        #expect(try store.write { try $0.distinctConversation(of: new.participants)?.id }.value == nil)
    }

    @Test(
        "a distinct conversation being deleted is reported until the server has confirmed the deletion",
        .proves("CONV-31"))
    func distinctDeleted() throws {
        let new = StoreFixture.newConversation(isDistinct: true)
        try store.apply(WireJSON.created(WireJSON.conversation(.test(1), isDistinct: true)))
        #expect(store.code { try store.write { _ = try $0.newConversation(new) } } == .distinctConversationExists)
        try store.write { try $0.deleteConversation(.test(1), mode: .myDevices) }
        #expect(
            store.code { try store.write { _ = try $0.newConversation(new) } } == .distinctDeletedConversationExists)
        #expect(StrataError.Code.distinctDeletedConversationExists.number == 1015)
        let others = StoreFixture.newConversation([WireJSON.ana, WireJSON.cleo], isDistinct: true)
        #expect(store.code { try store.write { _ = try $0.newConversation(others) } } == nil)
        try store.write { store in
            try store.operationSucceeded(store.queue.all[0].id, positions: .init(user: 1))
            try store.applyPacket(WireJSON.deleted(.test(1), .myDevices, user: 1))
            try store.finishOperations(in: [.test(1)], open: nil)
        }
        #expect(store.code { try store.write { _ = try $0.newConversation(new) } } == nil)
    }
}
