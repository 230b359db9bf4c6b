// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct DeletionUpToTests {
        /// Creates Ana's conversation with ben, with ben's messages at positions 2 to 5.
        private func scene(_ calls: CallsFixture) async throws -> (id: ConversationID, sent: [Message]) {
            let id = try await calls.conversation(["ben"])
            var sent: [Message] = []
            for _ in 0..<4 { sent.append(try await calls.send(id, by: "ben")) }
            return (id, sent)
        }

        private func told(_ calls: CallsFixture) throws -> UserChange? {
            guard case .change(let change)? = try calls.notices("ana").last else { return nil }
            return change
        }

        @Test("a deletion up to a position hides older messages and keeps newer ones; notice and log agree")
        func partly() async throws {
            try await CallsFixture.run { calls in
                let (id, sent) = try await scene(calls)
                try await calls.receipt(.read, sent[0].id, by: "ana")
                try await calls.delete(id, by: "ana", upTo: Position(3))
                let view = try await calls.get(id, withMetadata: false)
                #expect(view.totalCount == 2 && view.unreadCount == 2 && view.lastMessage?.id == sent[3].id)
                #expect(try await calls.messages(id).messages.map(\.id) == [sent[3].id, sent[2].id])
                #expect(try await calls.refusal { try await calls.message(sent[1].id, as: "ana") }?.code == .notFound)
                #expect(try await calls.list().total == 1)
                let change = try #require(try told(calls))
                #expect(
                    change.position == Position(1) && change.content == .messagesHidden(upTo: Position(3), view: view))
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges == [change])
                #expect(try await calls.messages(id, as: "ben").total == 4)
                #expect(try calls.publishedChanges(of: id).last?.position == Position(6))
            }
        }

        @Test("a client that reads the log from the beginning receives the creation, although its position is deleted")
        func createdSince() async throws {
            try await CallsFixture.run { calls in
                let id = try await scene(calls).id
                try await calls.delete(id, by: "ana", upTo: Position(3))
                let log = try await calls.readLogs(as: "ana", [id: .zero], userAfter: .zero)
                let told = log.changes.map(\.position)
                #expect(told == [Position(1), Position(4), Position(5)])
                guard case .conversationCreated? = log.changes.first?.content else {
                    Issue.record("the creation is not told")
                    return
                }
            }
        }

        @Test("a hidden position and one before all messages have no effect; a future position means the present")
        func bounds() async throws {
            try await CallsFixture.run { calls in
                let (id, sent) = try await scene(calls)
                try await calls.delete(id, by: "ana", upTo: Position(1))
                #expect(try await calls.get(id, withMetadata: false).totalCount == 4)
                try await calls.delete(id, by: "ana", upTo: Position(3))
                for position in [Position(3), Position(2), .zero] {
                    try await calls.delete(id, by: "ana", upTo: position)
                    #expect(try await calls.get(id, withMetadata: false).totalCount == 2)
                }
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges.count == 1)
                try await calls.delete(id, by: "ana", upTo: Position(.max))
                #expect(try await calls.list().total == 0)
                #expect(try told(calls)?.content == .conversationHidden(id, upTo: Position(5), wholly: true))
                // A conversation that is not on the list cannot be deleted, up to any position.
                #expect(
                    try await calls.refusal { try await calls.delete(id, by: "ana", upTo: Position(2)) }?.code
                        == .notFound)
                try await calls.send(id, by: "ben")
                try await calls.delete(id, by: "ana", upTo: sent[3].position)
                #expect(try await calls.get(id, withMetadata: false).totalCount == 1)
            }
        }

        @Test("a conversation without newer messages leaves the list, even after other changes")
        func nothingNewer() async throws {
            try await CallsFixture.run { calls in
                let (id, sent) = try await scene(calls)
                try await calls.receipt(.read, sent[3].id, by: "ana")
                try await calls.patch(id, metadata: [set("title", "x")])
                try await calls.delete(sent[3].id, by: "ben", .allParticipants)
                try await calls.delete(id, by: "ana", upTo: sent[2].position)
                #expect(try await calls.list().total == 0)
                #expect(try told(calls)?.content == .conversationHidden(id, upTo: Position(8), wholly: true))
            }
        }

        @Test("a user who was added later keeps the conversation, without the deleted messages")
        func addedLater() async throws {
            try await CallsFixture.run { calls in
                let (id, sent) = try await scene(calls)
                try await calls.patch(id, by: "ben", [remove("ana")])
                try await calls.patch(id, by: "ben", [add("ana")])
                try await calls.delete(id, by: "ana", upTo: sent[3].position)
                let view = try await calls.get(id, withMetadata: false)
                #expect(view.totalCount == 0 && view.lastMessage == nil && view.isParticipant)
                #expect(try told(calls)?.content == .messagesHidden(upTo: sent[3].position, view: view))
                #expect(try await calls.misplaced() == 0)
            }
        }

        @Test(
            "a former participant keeps messages between the position and their leaving, also if one request does both")
        func left() async throws {
            try await CallsFixture.run { calls in
                let (id, sent) = try await scene(calls)
                try await calls.delete(id, by: "ana", leave: true, upTo: sent[1].position)
                try await calls.send(id, by: "ben")
                var view = try await calls.get(id, withMetadata: false)
                #expect(!view.isParticipant && view.totalCount == 2 && view.lastMessage?.id == sent[3].id)
                try await calls.delete(id, by: "ana", upTo: sent[2].position)
                view = try await calls.get(id, withMetadata: false)
                #expect(view.totalCount == 1 && view.unreadCount == 1)
                try await calls.delete(id, by: "ana", upTo: Position(.max))
                #expect(try await calls.list().total == 0)
            }
        }
    }
}
