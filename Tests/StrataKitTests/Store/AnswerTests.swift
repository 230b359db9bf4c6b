// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("end of the overlay of answered changes")
struct AnswerTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat, metadata: ["title": "Lunch"])
    }

    private func metadata(at position: Int64, _ value: String) -> JSONValue {
        WireJSON.updated(chat, at: position, WireJSON.set("metadata.title", .string(value)))
    }

    private func finish(open: (ConversationID, Int64)? = nil) throws {
        try store.write { try $0.finishOperations(in: [chat], open: open) }
    }

    @Test("an answered change stays on top until the packets up to its position arrive", .proves("OFF-8", "META-33"))
    func position() throws {
        try store.set("title", "mine", in: chat)
        try store.succeed(store.queue[0], at: 3)
        try store.apply(metadata(at: 2, "earlier"))
        try finish()
        #expect(try store.metadata(of: chat) == ["title": "mine"])
        try store.apply(metadata(at: 3, "mine"))
        try finish()
        #expect(store.queue.isEmpty)
        try store.apply(metadata(at: 4, "later"))
        #expect(try store.metadata(of: chat) == ["title": "later"])
    }

    @Test("an answered change stays on top while more packets of its position may arrive")
    func open() throws {
        try store.set("title", "mine", in: chat)
        try store.succeed(store.queue[0], at: 2)
        try store.apply(WireJSON.updated(chat, at: 2, WireJSON.set("metadata.other", "x")))
        try finish(open: (chat, 2))
        #expect(try store.metadata(of: chat)?["title"] == "mine")
        try store.apply(metadata(at: 2, "mine"))
        try finish(open: (chat, 3))
        #expect(store.queue.isEmpty)
    }

    @Test("an answer after its packets ends the change at once")
    func late() throws {
        try store.set("title", "mine", in: chat)
        try store.apply(metadata(at: 2, "mine"), metadata(at: 3, "theirs"))
        #expect(try store.metadata(of: chat) == ["title": "mine"])
        try store.succeed(store.queue[0], at: 2)
        #expect(store.queue.isEmpty)
        #expect(try store.metadata(of: chat) == ["title": "theirs"])
    }

    @Test("an answer with two positions waits for both")
    func both() throws {
        try store.addMessages(2...2, in: chat)
        try store.write { try $0.deleteConversation(chat, mode: .myDevices) }
        try store.succeed(store.queue[0], at: 2, user: 5)
        #expect(store.queue.count == 1)
        try store.apply(WireJSON.deleted(chat, .myDevices, user: 5))
        try finish()
        #expect(store.queue.isEmpty)
        #expect(try store.conversation(chat) == nil)
    }

    @Test("an answer without a position, or with 0, ends the change at once", arguments: [nil, 0] as [Int64?])
    func noPosition(_ position: Int64?) throws {
        try store.set("title", "mine", in: chat)
        try store.succeed(store.queue[0], at: position)
        #expect(store.queue.isEmpty)
    }

    @Test("a replay that was requested after the answer ends the change", .proves("OFF-8"))
    func replayed() throws {
        try store.set("title", "mine", in: chat)
        try store.send(.test(10), in: chat)
        let ids = store.queue.map(\.id)
        try store.succeed(store.queue[0], at: 9)
        try store.write { try $0.finishOperations(ids) }
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try store.metadata(of: chat) == ["title": "Lunch"])
    }

    @Test(
        "the creation in an answer replaces the draft, with the server's time", .proves("CONV-35", "CONV-37", "OFF-7"))
    func creation() throws {
        let new = try store.write { try $0.createDraft(StoreFixture.newConversation(metadata: ["a": "b"])) }.value
        try store.send(.test(10), in: new)
        let outcome = try store.succeed(store.queue[0], object: WireJSON.conversation(new, metadata: ["a": "b"]))
        #expect(outcome.words == ["conversation update createdAt"])
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try store.progress(of: new)?.oldest == 0)
    }

    @Test("an older object in an answer does not replace a newer one")
    func olderObject() throws {
        let new = try store.write { try $0.createDraft(StoreFixture.newConversation()) }.value
        try store.send(.test(10), in: new)
        try store.apply(WireJSON.created(WireJSON.conversation(new, at: 3, metadata: ["a": "new"])))
        try store.succeed(store.queue[0], object: WireJSON.conversation(new, at: 2))
        #expect(try store.metadata(of: new) == ["a": "new"])
    }

    @Test("a confirmed delivery ends with its answer")
    func delivery() throws {
        try store.apply(WireJSON.created(WireJSON.message(.test(2), in: chat, at: 2, statuses: [WireJSON.ana: "sent"])))
        try store.succeed(store.queue[0])
        #expect(store.queue.isEmpty)
    }
}
