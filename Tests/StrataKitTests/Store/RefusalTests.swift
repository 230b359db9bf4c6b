// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("changes that the server refuses")
struct RefusalTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat, metadata: ["title": "Lunch"])
    }

    @Test("refused metadata is reverted, and the failure is reported", .proves("OFF-6", "META-20"))
    func metadata() throws {
        try store.set("title", "mine", in: chat)
        let operation = store.queue[0]
        let outcome = try store.refuse(operation, .invalidValue)
        #expect(outcome.words == ["conversation update metadata"])
        #expect(try store.metadata(of: chat) == ["title": "Lunch"])
        let failure = try #require(outcome.findings.failures.first)
        #expect(failure.operation == "setMetadata" && failure.id == operation.id && failure.conversation == chat)
        #expect(failure.error.code == .invalidValue)
    }

    @Test("a refused message stays, marked as failed, and is not sent again", .proves("OFF-6"))
    func message() throws {
        try store.send(.test(10), in: chat)
        let outcome = try store.refuse(store.queue[0])
        #expect(outcome.words == ["conversation update totalNumberOfMessages", "message update failure"])
        #expect(outcome.findings.failures.map(\.messages) == [[.test(10)]])
        let message = try #require(try store.message(.test(10)))
        #expect(message.failure?.code == .invalidMessage && !message.isSent)
        var schedule = OutgoingSchedule()
        #expect(schedule.nextSteps(for: store.core.queue, hasSocket: true, now: .now).isEmpty)
        try store.reopen()
        #expect(try store.message(.test(10))?.failure?.code == .invalidMessage)
    }

    @Test("a failed message can be deleted and does not delay the next one", .proves("OFF-6", "DEL-3"))
    func failedMessage() throws {
        try store.send(.test(10), in: chat)
        try store.refuse(store.queue[0])
        try store.send(.test(11), in: chat)
        #expect(try store.messages(in: chat) == [.test(10), .test(11)])
        try store.write { try $0.deleteMessage(.test(10), mode: .allParticipants) }
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try store.messages(in: chat) == [.test(11)])
    }

    @Test("a refused creation reverts all dependent changes, each with a report", .proves("OFF-4", "OFF-6"))
    func creation() throws {
        let new = try store.write { try $0.createDraft(StoreFixture.newConversation()) }.value
        try store.send(.test(10), in: new)
        try store.send(.test(11), in: new)
        let outcome = try store.refuse(store.queue[0], .tooManyParticipants)
        #expect(store.queue.isEmpty)
        #expect(outcome.words == ["conversation delete", "message delete", "message delete"])
        #expect(outcome.findings.failures.map(\.operation) == ["createConversation", "sendMessage", "sendMessage"])
        #expect(outcome.findings.failures.allSatisfy { $0.error.code == .tooManyParticipants })
    }

    @Test("a deletion for all drops unsent and failed changes", .proves("OFF-7"))
    func deletedMeanwhile() throws {
        try store.send(.test(10), in: chat)
        try store.refuse(store.queue[0])
        try store.send(.test(11), in: chat)
        try store.set("title", "mine", in: chat)
        let outcome = try store.apply(WireJSON.deleted(chat))
        #expect(store.queue.isEmpty)
        #expect(try store.message(.test(10)) == nil && store.message(.test(11)) == nil)
        #expect(outcome.findings.failures.map(\.operation) == ["sendMessage", "setMetadata"])
        #expect(outcome.words == ["conversation delete", "message delete", "message delete"])
    }

    @Test("changes sent to a deleted conversation end and leave no orphaned message", .proves("OFF-7"))
    func sentToGone() throws {
        try store.send(.test(10), in: chat)
        try store.attempt(store.queue[0])
        try store.apply(WireJSON.deleted(chat))
        #expect(store.pendingNames == ["sendMessage"])
        let outcome = try store.refuse(store.queue[0], .conversationDeleted)
        #expect(outcome.findings.failures.count == 1)
        #expect(store.queue.isEmpty)
        #expect(try store.message(.test(10)) == nil)
    }

    @Test("a refused message that was deleted meanwhile disappears, and its deletion is not sent")
    func deletedWhileSent() throws {
        try store.send(.test(10), in: chat)
        try store.attempt(store.queue[0])
        try store.write { try $0.deleteMessage(.test(10), mode: .allParticipants) }
        try store.refuse(store.queue[0])
        #expect(store.queue.isEmpty)
        #expect(try store.message(.test(10)) == nil)
    }

    @Test("a duplicate answer, or one for an ended change, changes nothing")
    func late() throws {
        try store.set("title", "mine", in: chat)
        let operation = store.queue[0]
        try store.succeed(operation, at: 2)
        #expect(try store.refuse(operation).changes.isEmpty)
        #expect(try store.metadata(of: chat) == ["title": "mine"])
        try store.apply(WireJSON.updated(chat, at: 2, WireJSON.set("metadata.title", "mine")))
        try store.write { try $0.finishOperations(in: [chat], open: nil) }
        #expect(try store.succeed(operation, at: 3).changes.isEmpty)
        #expect(store.queue.isEmpty)
    }
}
