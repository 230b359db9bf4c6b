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

    @Test("a page of conversations is fetched in batches, without those that fit into no answer")
    func batches() async throws {
        try await FakeConversations.run { harness, fake in
            let ids = (0..<6).map { _ in ConversationID.random() }
            fake.answers.withLock { answers in
                answers.view = { _ in Position(2) }
                answers.tree = { id in id == ids[2] ? nil : ([], 700_000) }
            }
            var first = Fixture.view(at: 2)
            first.conversation.id = .random()
            var page = ConversationBatches(
                [first], later: ids, from: harness.services,
                for: GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ben)))
            var batches: [[ConversationID]] = []
            while let batch = try await page.next() { batches.append(batch.map(\.conversation.id)) }
            #expect(page.isFinished)
            let fitting = [first.conversation.id] + ids.filter { $0 != ids[2] }
            #expect(batches.flatMap { $0 } == fitting)
            #expect(batches.count >= 5)
        }
    }

    @Test("a conversation that an answer had no room for is read again")
    func created() async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock { answers in
                answers.view = { _ in Position(3) }
                answers.existing = true
                answers.tree = { _ in ([MetadataLeaf(path: MetadataPath(trusted: "a"), value: "1")], 0) }
            }
            let call = GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ben))
            let failure = await #expect(throws: Failure.self) {
                try await harness.services.createConversation(
                    id: Fixture.conversation, participants: [Fixture.ben], isDistinct: false, metadata: nil, for: call)
            }
            guard case .conversation(let view)? = failure?.detail else {
                Issue.record("the failure names no conversation")
                return
            }
            #expect(view.conversation.metadata?.leaves.count == 1)
        }
    }
}
