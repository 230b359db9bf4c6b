// SPDX-License-Identifier: Apache-2.0
import Contracts
import StrataModel
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// Conversations composed from the answers of two services while they change.
@Suite(.timeLimit(.minutes(3)))
struct CompositionTests {
    /// A conversation whose position advances with every read.
    private final class Moving: Sendable {
        private let position = Atomic<Int64>(1)
        func next() -> Position { Position(position.wrappingAdd(1, ordering: .relaxed).newValue) }
    }

    private final class CountedAnswers: CallAnswers {
        private let received = Atomic<Int>(0)
        var count: Int { received.load(ordering: .relaxed) }
        func answerReceived(byteCount: Int) { received.wrappingAdd(1, ordering: .relaxed) }
    }

    @Test(
        "a tree that was read after its conversation is read again only if a patch came in between",
        arguments: [false, true])
    func movedOn(isPatched: Bool) async throws {
        try await FakeConversations.run { harness, fake in
            let moving = Moving()
            let addition = Change.Content.participantsChanged(
                added: [], removed: [], distinctCleared: false, conversation: nil)
            fake.answers.withLock { answers in
                answers.view = { _ in moving.next() }
                answers.changes = { _ in
                    [
                        Fixture.change(2), Fixture.change(3, isPatched ? .metadataChanged([]) : addition),
                        Fixture.change(4),
                    ]
                }
            }
            let key = UserKey(app: Fixture.app, user: Fixture.ben)
            let answers = CountedAnswers()
            let view = try await harness.services.conversation(
                Fixture.conversation, for: GatewayServices.Call(key, answers: answers))
            #expect(fake.treeRequestCount(of: Fixture.conversation) == (isPatched ? 2 : 1))
            // The reads for this decision count for the request, too: the view, the tree and the log.
            if !isPatched { #expect(answers.count == 3) }
            // The view's position matches the tree, so later changes apply to it.
            #expect(view.conversation.position == Position(isPatched ? 4 : 2))
        }
    }
}
