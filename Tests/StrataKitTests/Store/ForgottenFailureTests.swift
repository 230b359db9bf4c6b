// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("refused messages of a deleted conversation")
struct ForgottenFailureTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)

    init() throws {
        store = try StoreFixture()
        try store.addConversation(chat)
        try store.send(.test(10), in: chat)
        try store.refuse(store.queue[0])
        try #require(store.queue.count == 1)
    }

    private func expectGone(_ outcome: StoreCore.Outcome<Void>) throws {
        #expect(outcome.words == ["conversation delete", "message delete"])
        #expect(outcome.findings.failures.isEmpty)
        #expect(store.queue.isEmpty)
        try store.reopen()
        #expect(try store.queue.isEmpty && store.message(.test(10)) == nil)
    }

    @Test(
        "refused messages are deleted with their conversation, for all or from the user's devices", .proves("DEL-4"),
        arguments: [DeletionMode.allParticipants, .myDevices])
    func deleted(_ mode: DeletionMode) throws { try expectGone(store.apply(WireJSON.deleted(chat, mode))) }

    @Test("refused messages are deleted when the server no longer shows their conversation")
    func notFound() throws { try expectGone(store.write { try $0.storeConversation(nil, id: chat) }) }

    @Test("refused messages are deleted when a full reload does not list their conversation")
    func unlisted() throws {
        try store.write { try $0.beginListing(epoch: nil, timestamp: "now") }
        try expectGone(store.write { try $0.storeConversationPage([], next: nil) })
    }

    @Test("refused messages are deleted with their conversation, and unsent ones stay")
    func waiting() throws {
        try store.send(.test(11), in: chat)
        try store.apply(WireJSON.deleted(chat, .myDevices))
        #expect(store.queue.map(\.change.messages) == [[.test(11)]])
    }

    @Test("refused messages stay when only earlier messages are deleted")
    func upToPosition() throws {
        try store.apply(WireJSON.deleted(chat, .myDevices, upTo: 1, user: 1))
        #expect(try store.message(.test(10))?.failure != nil)
    }
}
