// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Conversations

extension StoreTests {
    /// A client that was disconnected reaches the server's state from the log alone (docs/architecture.md §3.5).
    @Suite struct CatchUpPropertyTests {
        private let users = ["ana", "ben", "cleo", "dora"]

        @Test(
            "a client's earlier state and the log together equal the server's state after any absence",
            arguments: [5, 6, 7] as [UInt64])
        func random(seed: UInt64) async throws {
            try await CallsFixture.run { calls in
                let created = try await calls.create(Array(users.dropFirst()))
                var random = SeededGenerator(seed: seed)
                var model = ConversationModel(users: users)
                var copy = ClientCopy(user: "ana", of: created.view)
                for round in 0..<14 {
                    for _ in 0..<Int.random(in: 1...20, using: &random) {
                        let user = users.randomElement(using: &random) ?? "ana"
                        let operation = ConversationModel.Operation(about: model, of: users, &random)
                        if operation.puts(out: "ana", askedBy: user) { continue }
                        let before = model
                        _ = model.apply(operation, by: user)
                        _ = try await calls.refusal {
                            try await calls.perform(operation, by: user, in: created.id, before)
                        }
                    }
                    let limit = [1, 4, 9, 1000].randomElement(using: &random) ?? 1000
                    let counts = try await catchUp(&copy, created.id, calls, limit: limit)
                    try await compare(copy, counts, created.id, calls, "seed \(seed), round \(round)")
                }
            }
        }

        private func catchUp(
            _ copy: inout ClientCopy, _ id: ConversationID, _ calls: CallsFixture, limit: Int
        ) async throws -> UserCounts? {
            while true {
                let log = try await calls.readLogs(
                    as: "ana", [id: copy.position], userAfter: copy.ownPosition, limit: limit)
                for entry in log.entries { copy.apply(entry) }
                if log.reachesHeads { return log.counts[id] }
            }
        }

        private func compare(
            _ copy: ClientCopy, _ counts: UserCounts?, _ id: ConversationID, _ calls: CallsFixture, _ place: Comment
        ) async throws {
            var fresh: [Message] = []
            if try await calls.list().total == 1 {
                let view = try await calls.get(id)
                fresh = try await calls.messages(id, pageSize: 1000).messages
                #expect(view.counts == counts && view.unreadCount == Int64(copy.unread), place)
                #expect(view.conversation.position == copy.position, place)
                if let participants = copy.participants {
                    #expect(participants.sorted() == view.conversation.participants.map(\.userID.rawValue), place)
                }
            }
            #expect(Set(fresh.map(\.id)) == Set(copy.messages.keys), place)
            for message in fresh {
                guard let kept = copy.messages[message.id] else { continue }
                #expect(
                    kept.parts == message.parts && kept.position == message.position && kept.sentAt == message.sentAt,
                    place)
                // Users who joined later are additional recipients, which no change announces.
                for recipient in kept.recipients {
                    #expect(recipient.status == message.status(of: recipient.userID), place)
                }
            }
        }
    }
}
