// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("the streams of a client", .timeLimit(.minutes(5)))
struct ChangeStreamTests {
    private let chat = ConversationID.test(1)

    @Test(
        "changes report creations, updates and deletions in batches, one object per change",
        .proves("SYNC-14", "SYNC-16"))
    func kinds() async throws {
        let user = try SignedInClient()
        var changes = user.client.objectChanges.makeAsyncIterator()
        let conversation = try await user.addConversation(chat)
        #expect(await changes.next()?.map(\.words) == ["identity create", "identity create", "conversation create"])
        try await conversation.setMetadata("Lunch", at: "title")
        #expect(await changes.next()?.map(\.words) == ["conversation update metadata"])
        try await user.send("Hi", in: conversation)
        #expect(
            await changes.next()?.map(\.words) == [
                "message create", "conversation update lastMessage", "conversation update totalNumberOfMessages",
            ])
        try await conversation.delete(.allParticipants)
        #expect(await changes.next()?.map(\.words) == ["conversation delete", "message delete"])
    }

    @Test("every observer receives all changes of its client, and none of another one", .proves("SYNC-15"))
    func observers() async throws {
        let (user, other) = (try SignedInClient(), try SignedInClient())
        var observers = (0..<3).map { _ in user.client.objectChanges.makeAsyncIterator() }
        var others = other.client.objectChanges.makeAsyncIterator()
        let conversation = try await user.addConversation(chat)
        try await conversation.setMetadata("Lunch", at: "title")
        for index in observers.indices {
            #expect(await observers[index].next()?.last?.words == "conversation create")
            #expect(await observers[index].next()?.map(\.words) == ["conversation update metadata"])
        }
        _ = try await other.addConversation(.test(2))
        guard case .conversation(let made)? = await others.next()?.last?.object else {
            throw StrataError(.unknown, "no conversation")
        }
        #expect(made.id == .test(2))
    }

    @Test("an observer that reads nothing delays no change, and receives all of them later, in order", .proves("CHG-9"))
    func slow() async throws {
        let user = try SignedInClient()
        let slow = user.client.objectChanges
        var quick = user.client.objectChanges.makeAsyncIterator()
        let conversation = try await user.addConversation(chat)
        for number in 0..<200 {
            try await conversation.setMetadata("\(number)", at: "number")
            if number == 199 { while await quick.next()?.metadataNumber != "199" {} }
        }
        var seen: [String] = []
        for await batch in slow {
            if let number = batch.metadataNumber { seen.append(number) }
            if seen.count == 200 { break }
        }
        #expect(seen == (0..<200).map(String.init))
    }

    @Test("every subscription to typing indicators receives every event", .proves("TYPE-5"))
    func typing() async throws {
        let user = try SignedInClient()
        let subscriptions = (0..<2).map { _ in user.client.typingIndicators }
        let sender = Identity(userID: WireJSON.ben)
        let expected = TypingAction.allCases.map { TypingIndicator(conversationID: chat, sender: sender, action: $0) }
        for indicator in expected { user.client.streams.typing.send(indicator) }
        for subscription in subscriptions {
            var events = subscription.makeAsyncIterator()
            for indicator in expected { #expect(await events.next() == indicator) }
        }
    }
}

extension [ObjectChange] {
    /// The value of the metadata key `number` after a change.
    fileprivate var metadataNumber: String? {
        guard case .conversation(let conversation)? = first?.object else { return nil }
        return conversation.metadata["number"]
    }
}
