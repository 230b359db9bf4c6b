// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// The conversion of services' answers to pages of lists for clients.
@Suite(.timeLimit(.minutes(3)))
struct ListPageTests {
    @Test("the next page starts at the service's cursor")
    func ends() throws {
        let end = MessageID.random()
        #expect(try GatewayServices.nextFrom(ProtoPageEnd(lastID: Data(end)), MessageID.self) == end.layerID)
        #expect(try GatewayServices.nextFrom(ProtoPageEnd(lastID: nil), MessageID.self) == nil)
        #expect(throws: Failure.self) { try GatewayServices.nextFrom(ProtoPageEnd(lastID: Data([1])), MessageID.self) }
    }

    private func loaded(_ id: ConversationID, at position: Int64, messages: Int) -> LoadedConversation {
        var view = Fixture.view(at: position)
        view.conversation.id = id
        view.conversation.metadata = nil
        let messages = (0..<messages).map { Fixture.message(Int64(messages - $0), at: position) }
        view.lastMessage = messages.first
        view.messageCount = Int64(messages.count)
        return LoadedConversation(view: view, messages: messages, isTruncated: false)
    }

    @Test("a conversation reloaded for its tree keeps its loaded messages and counts")
    func moment() async throws {
        try await FakeConversations.run { harness, fake in
            // The conversation was patched after loading: its tree is newer, and both are read again.
            fake.answers.withLock { answers in
                answers.view = { _ in Position(9) }
                answers.tree = { _ in ([MetadataLeaf(path: MetadataPath(trusted: "a"), value: "new")], 100) }
                answers.changes = { _ in [Fixture.change(9)] }
            }
            let before = loaded(Fixture.conversation, at: 8, messages: 3)
            let call = GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ben))
            var page = LoadedBatches([before], from: harness.services, for: call)
            let after = try #require(await page.next()?.first)
            #expect(page.isFinished)
            #expect(
                after.view.conversation.position == Position(9) && after.view.conversation.metadata?.leaves.count == 1)
            #expect(
                after.messages == before.messages && after.view.lastMessage == before.messages.first
                    && after.view.messageCount == 3)
        }
    }

    @Test(
        "messages stay with their conversation, also with several batches of trees and a conversation that cannot be shown"
    )
    func batches() async throws {
        try await FakeConversations.run { harness, fake in
            let items = (1...5).map { loaded(.random(), at: 2, messages: $0) }
            let unshown = items[2].view.conversation.id
            fake.answers.withLock { answers in
                answers.view = { _ in Position(2) }
                answers.tree = { id in
                    if id == unshown { throw Failure.answerTooLarge }
                    return ([], 700_000)
                }
            }
            var page = LoadedBatches(
                items, from: harness.services, for: GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ben)))
            var shown: [LoadedConversation] = []
            var held = [page.heldBytes]
            while let batch = try await page.next() {
                shown += batch
                held.append(page.heldBytes)
            }
            // Objects that were handed out are no longer held.
            #expect(held.count > 2 && zip(held, held.dropFirst()).allSatisfy { $0 > $1 })
            #expect(shown.map(\.messages) == items.filter { $0.view.conversation.id != unshown }.map(\.messages))
        }
    }
}
