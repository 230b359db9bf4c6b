// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import RequirementTrait
import Testing

@testable import StrataKit

@Suite("messages that were refused, of a conversation that is gone")
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

    @Test("go when it is deleted for all, or from the user's devices", .proves("DEL-4"), arguments: [DeletionMode.allParticipants, .myDevices])
    func deleted(_ mode: DeletionMode) throws { try expectGone(store.apply(WireJSON.deleted(chat, mode))) }

    @Test("go when the server does not show it any more")
    func notFound() throws { try expectGone(store.write { try $0.storeConversation(nil, id: chat) }) }

    @Test("go when everything is listed anew, and it is in no list")
    func unlisted() throws {
        try store.write { try $0.beginListing(epoch: nil, timestamp: "now") }
        try expectGone(store.write { try $0.storeConversationPage([], next: nil) })
    }

    @Test("go with it, and what still waits to be sent stays")
    func waiting() throws {
        try store.send(.test(11), in: chat)
        try store.apply(WireJSON.deleted(chat, .myDevices))
        #expect(store.queue.map(\.change.messages) == [[.test(11)]])
    }

    @Test("stay when only what came before them is deleted")
    func upToPosition() throws {
        try store.apply(WireJSON.deleted(chat, .myDevices, upTo: 1, user: 1))
        #expect(try store.message(.test(10))?.failure != nil)
    }
}
