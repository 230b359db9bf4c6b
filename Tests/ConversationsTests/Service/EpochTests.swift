// SPDX-License-Identifier: Apache-2.0
import Model
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct EpochTests {
        @Test("every conversation shows the epoch, which changes with the cluster or when the operator says so")
        func epoch() async throws {
            try await CallsFixture.run { calls in
                func now() async throws -> String { try await EpochSource(database: calls.database).current(deadline: .soon) }
                let first = try await now()
                let id = try await calls.conversation()
                #expect(!first.isEmpty)
                #expect(try await now() == first)
                let view = try await calls.get(id)
                let list = try await calls.list().views
                #expect(!view.conversation.epoch.isEmpty && list.allSatisfy { $0.conversation.epoch == view.conversation.epoch })
                // As if the database had been restored: another timeline than it remembers.
                _ = try await calls.number(
                    "WITH moved AS (UPDATE conversations.epoch SET timeline = timeline - 1 RETURNING 1) SELECT count(*) FROM moved")
                let second = try await now()
                #expect(second != first)
                #expect(try await now() == second)
            }
        }
    }
}
