// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("merging a distinct conversation with another user's")
struct DistinctMergeTests {
    private let store: StoreFixture
    private let mine: ConversationID
    private let theirs = ConversationID.test(1)

    init() throws {
        let store = try StoreFixture()
        self.store = store
        let new = StoreFixture.newConversation(isDistinct: true, metadata: ["title": "mine", "same": "x"])
        mine = try store.write { try $0.createDraft(new) }.value
        try store.send(.test(10), in: mine)
        try store.send(.test(11), in: mine)
    }

    @discardableResult
    private func merge() throws -> StoreCore.Outcome<Void> {
        try store.succeed(
            store.queue[0],
            object: WireJSON.conversation(
                theirs, at: 5, metadata: ["title": "theirs", "same": "x", "own": "y"], isDistinct: true))
    }

    @Test("messages move to the other conversation, and both ids find it", .proves("CONV-32", "CONV-12", "CONV-14"))
    func moved() throws {
        let outcome = try merge()
        #expect(outcome.findings.merged == [mine: theirs])
        #expect(try store.conversation(mine)?.id == theirs)
        #expect(try store.messages(in: theirs) == [.test(10), .test(11)])
        #expect(try store.message(.test(10))?.conversationID == theirs)
        #expect(store.queue.allSatisfy { $0.conversation == theirs })
        #expect(
            outcome.update("identifier")
                == PropertyChange(name: "identifier", before: .conversation(mine), after: .conversation(theirs)))
        let conversations = outcome.words.filter { $0.hasPrefix("conversation ") }
        #expect(
            Set(conversations) == [
                "conversation update identifier", "conversation update createdAt", "conversation update metadata",
            ])
        #expect(
            outcome.words.filter { $0.hasPrefix("message ") } == [
                "message update conversation", "message update conversation",
            ])
    }

    @Test("merging into a visible conversation removes one conversation")
    func shown() throws {
        try store.apply(WireJSON.created(WireJSON.conversation(theirs, at: 4, isDistinct: true)))
        let outcome = try merge()
        let deleted = outcome.changes.filter { $0.kind == .delete }
        #expect(deleted.count == 1)
        guard case .conversation(let conversation)? = deleted.first?.object else {
            throw StrataError(.unknown, "no conversation")
        }
        #expect(conversation.id == mine)
        #expect(outcome.update("identifier") == nil)
    }

    @Test("a moved deletion keeps messages newer than the deleted ones", .proves("CONV-32"))
    func deletion() throws {
        try store.attempt(store.queue[0])
        try store.write { try $0.deleteConversation(mine, mode: .myDevices) }
        try store.apply(
            WireJSON.created(WireJSON.conversation(theirs, at: 1, isDistinct: true)),
            WireJSON.created(WireJSON.message(.test(20), in: theirs, at: 2), at: 2))
        #expect(try store.messages(in: theirs) == [.test(20)])
        try merge()
        let deletion = try #require(store.queue.first { $0.change.name == "deleteConversation" })
        try store.attempt(deletion)
        try store.succeed(deletion, at: 0)
        try store.apply(WireJSON.created(WireJSON.message(.test(21), in: theirs, at: 6), at: 6))
        #expect(try store.messages(in: theirs).contains(.test(20)))
    }

    @Test("differing metadata is set key by key, before all later changes", .proves("CONV-32"))
    func metadata() throws {
        try merge()
        #expect(try store.metadata(of: theirs) == ["title": "mine", "same": "x", "own": "y"])
        #expect(store.pending.first == .patchMetadata([StoreFixture.step("title", "mine")]))
        #expect(store.pendingNames == ["setMetadata", "sendMessage", "sendMessage"])
    }

    @Test(
        "later changes in the merged conversation move too, and all survive the end of the app",
        .proves("CONV-32", "OFF-1"))
    func later() throws {
        try store.attempt(store.queue[0])
        try store.set("later", "z", in: mine)
        try store.write { try $0.changeParticipants([.init(user: WireJSON.cleo, isAdded: true)], in: mine) }
        try merge()
        try store.reopen()
        #expect(try store.metadata(of: theirs)?["later"] == "z")
        #expect(try store.participants(of: theirs) == [WireJSON.ana, WireJSON.ben, WireJSON.cleo])
        #expect(try store.conversation(mine)?.id == theirs)
        try store.write { store in
            try store.sendMessage(StoreFixture.newMessage(.test(12)), in: store.reader.resolve(mine))
        }
        #expect(try store.messages(in: theirs) == [.test(10), .test(11), .test(12)])
    }

    @Test("merging into a stored conversation does not make it older")
    func known() throws {
        try store.apply(
            WireJSON.created(WireJSON.conversation(theirs, at: 7, metadata: ["title": "newest"], isDistinct: true)))
        try store.addMessages(8...8, in: theirs)
        try merge()
        #expect(try store.messages(in: theirs) == [.test(8), .test(10), .test(11)])
        for operation in store.queue { try store.refuse(operation) }
        #expect(try store.metadata(of: theirs) == ["title": "newest"])
    }

    @Test("an earlier merged id finds the last conversation")
    func chain() throws {
        try merge()
        try store.write { store in
            try store.applyPacket(WireJSON.deleted(theirs))
            #expect(try store.reader.resolve(mine) == theirs)
        }
        #expect(try store.conversation(mine) == nil)
    }
}
