// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Foundation
import Postgres
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct EpochTests {
        @Test("every conversation has the epoch, which changes with the cluster or by an operator command")
        func epoch() async throws {
            try await CallsFixture.run { calls in
                func now() async throws -> String {
                    try await EpochSource(database: calls.database).current(deadline: .soon)
                }
                let first = try await now()
                let id = try await calls.conversation()
                #expect(!first.isEmpty)
                #expect(try await now() == first)
                let view = try await calls.get(id)
                let list = try await calls.list().views
                #expect(
                    !view.conversation.epoch.isEmpty
                        && list.allSatisfy { $0.conversation.epoch == view.conversation.epoch })
                // Simulate a restored database, which has another timeline than the stored one.
                _ = try await calls.number(
                    "WITH moved AS (UPDATE conversations.epoch SET timeline = timeline - 1 RETURNING 1) SELECT count(*) FROM moved"
                )
                let second = try await now()
                #expect(second != first)
                #expect(try await now() == second)
                #expect((second.count, second) > (first.count, first), "the later epoch is the greater")
            }
        }

        @Test("a baseline has the epoch if requested, and the new epoch at once after the database changed")
        func baseline() async throws {
            try await CallsFixture.run { calls in
                let begin = StrataModel.Timestamp(microseconds: 0)
                func epoch() async throws -> String {
                    try await calls.baseline(as: "ana", since: begin) { $0.wantsEpoch = true }.epoch
                }
                let id = try await calls.conversation()
                let first = try await epoch()
                #expect(try await calls.get(id).conversation.epoch == first)
                #expect(try await calls.baseline(as: "ana", since: begin).epoch == "")
                #expect(
                    try await calls.baseline(as: "ana", since: begin) { $0.wantsEpoch = true }.entries
                        .map(\.conversationID) == [Data(id)])
                // Simulate another database in the place of this one. The service has not queried it since.
                _ = try await calls.number(
                    "WITH moved AS (UPDATE conversations.epoch SET timeline = timeline - 1 RETURNING 1) SELECT count(*) FROM moved"
                )
                let second = try await epoch()
                #expect((second.count, second) > (first.count, first))
            }
        }

        @Test("the epoch is returned when the log's end is not visible, and a shorter log changes nothing")
        func unseen() async throws {
            try await ServiceFixture.run { service in
                let first = try await EpochSource(database: service.database).current(deadline: .soon)
                // Simulate a migrating role that is not the superuser and cannot read the timeline.
                try await service.execute(
                    """
                    GRANT ALL ON conversations.epoch TO strata_conversations;
                    ALTER FUNCTION conversations.check_epoch(text, bigint) OWNER TO strata_conversations;
                    ALTER FUNCTION conversations.server_state() OWNER TO strata_conversations;
                    REVOKE EXECUTE ON FUNCTION pg_current_wal_flush_lsn() FROM PUBLIC;
                    """)
                let rows = try await service.database.runExclusive(
                    CheckEpoch(epoch: first, walEnd: .max), deadline: .soon)
                let row = try #require(rows.first)
                #expect(row.epoch == first)
                #expect(row.reached == nil)
                #expect(try await EpochSource(database: service.database).current(deadline: .soon) == first)
            }
        }

        @Test("a disk copy on the same timeline is detected, because its log ends before positions already seen")
        func putBack() async throws {
            try await CallsFixture.run { calls in
                func check(_ known: String, _ seen: Int64) async throws -> String {
                    let rows = try await calls.database.runExclusive(
                        CheckEpoch(epoch: known, walEnd: seen), deadline: .soon)
                    return try #require(rows.first).epoch
                }
                let first = try await EpochSource(database: calls.database).current(deadline: .soon)
                let reached = try await calls.number("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
                #expect(try await check(first, reached) == first)
                let second = try await check(first, reached + 1 << 40)
                #expect(second != first)
                // Another process with the same knowledge accepts the epoch that the first one set.
                #expect(try await check(first, reached + 1 << 40) == second)
                #expect(try await calls.heads(since: StrataModel.Timestamp(microseconds: 0)).epoch == second)
            }
        }
    }
}
