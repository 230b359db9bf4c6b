// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("waiting for objects", .timeLimit(.minutes(5)))
struct WaitingTests {
    @Test("waiting for an object that is deleted meanwhile ends with the timeout", .proves("SYNC-72"))
    func deleted() async throws {
        let user = try SignedInClient()
        let (chat, message) = (ConversationID.test(1), MessageID.test(3))
        _ = try await user.addConversation(chat)
        let gone = ConversationID.test(2)
        let first = Task { _ = try await user.client.waitForCreation(of: message, timeout: .milliseconds(100)) }
        let second = Task { _ = try await user.client.waitForCreation(of: gone, timeout: .milliseconds(100)) }
        // Both objects are created and deleted before the app can see them; other changes follow.
        try await user.apply(
            WireJSON.created(WireJSON.message(message, in: chat, at: 3)), WireJSON.deleted(message, in: chat, at: 4),
            WireJSON.created(WireJSON.conversation(gone)), WireJSON.deleted(gone))
        try await user.apply(WireJSON.updated(chat, at: 5, WireJSON.set("metadata.title", "Lunch")))
        for task in [first, second] { #expect(await errorCode { try await task.value } == .asyncTimeout) }
    }

    @Test("waiting for an already deleted object does not succeed")
    func deletedBefore() async throws {
        let user = try SignedInClient()
        let chat = try await user.addConversation(.test(1))
        try await chat.delete(.allParticipants)
        #expect(
            await errorCode { _ = try await user.client.waitForCreation(of: chat.id, timeout: .milliseconds(20)) }
                == .asyncTimeout)
    }
}
