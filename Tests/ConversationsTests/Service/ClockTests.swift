// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Foundation
import Postgres
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// Wrong clocks and clock corrections, as seen by the database.
    @Suite struct ClockTests {
        private func epoch(_ calls: CallsFixture) async throws -> String {
            try await EpochSource(database: calls.database).current(deadline: .soon)
        }

        /// Sets the clock's high-water mark, to simulate a clock that was ahead and has been corrected.
        private func mark(_ calls: CallsFixture, _ time: String) async throws {
            try await calls.execute("UPDATE conversations.epoch SET clock_mark = \(time)")
        }

        private func now(_ calls: CallsFixture) async throws -> StrataModel.Timestamp {
            StrataModel.Timestamp(
                microseconds: try await calls.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            )
        }

        @Test("a clock that goes back by more than a tolerance starts one new history")
        func setBack() async throws {
            try await CallsFixture.run { calls in
                let first = try await epoch(calls)
                try await mark(calls, "clock_timestamp() + interval '4 seconds'")
                #expect(try await epoch(calls) == first)
                try await mark(calls, "clock_timestamp() + interval '10 minutes'")
                let second = try await epoch(calls)
                #expect((second.count, second) > (first.count, first), "gateways follow the later epoch")
                #expect(try await epoch(calls) == second)
                #expect(
                    try await calls.number(
                        """
                        SELECT count(*) FROM conversations.epoch
                        WHERE clock_mark <= clock_timestamp() AND set_back_from > clock_timestamp() + interval '9 minutes'
                        """) == 1)
            }
        }

        @Test("a read-only database returns its epoch")
        func readOnly() async throws {
            try await CallsFixture.run { calls in
                _ = try await epoch(calls)
                try await mark(calls, "clock_timestamp() - interval '1 hour'")
                try await calls.execute(
                    """
                    DO $$
                    BEGIN
                        PERFORM set_config('transaction_read_only', 'on', true);
                        PERFORM * FROM conversations.check_epoch(NULL, NULL) e WHERE e.epoch <> '';
                        ASSERT FOUND;
                    END
                    $$
                    """)
            }
        }

        @Test("the clock mark follows the clock and is written periodically only")
        func following() async throws {
            try await CallsFixture.run { calls in
                let first = try await epoch(calls)
                try await mark(calls, "clock_timestamp() - interval '1 hour'")
                #expect(try await epoch(calls) == first)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.epoch WHERE clock_mark > clock_timestamp() - interval '5 seconds'"
                    )
                        == 1)
                let written = try await calls.number("SELECT xmin::text::bigint FROM conversations.epoch")
                for _ in 0..<5 { #expect(try await epoch(calls) == first) }
                #expect(try await calls.number("SELECT xmin::text::bigint FROM conversations.epoch") == written)
            }
        }

        @Test("a replay from a future or ambiguous time is not complete")
        func replay() async throws {
            try await CallsFixture.run { calls in
                _ = try await calls.conversation()
                let now = try await now(calls)
                func isComplete(_ seconds: Int64) async throws -> Bool {
                    try await calls.baseline(as: "ana", since: now.advanced(by: .seconds(seconds))) {
                        $0.wantsEpoch = true
                    }
                    .complete
                }
                #expect(try await isComplete(-30))
                #expect(try await !isComplete(60))
                // The clock was set back by ten minutes eleven minutes ago.
                try await calls.execute(
                    "UPDATE conversations.epoch SET set_back_from = clock_timestamp() - interval '1 minute'")
                #expect(try await !isComplete(-30))
                #expect(try await !isComplete(-90))
                #expect(try await isComplete(-150))
            }
        }

        @Test(
            "the catch-up of a new socket uses the database's clock instead of a gateway's",
            arguments: [-600, 600])
        func recent(seconds: Int64) async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.send(id, by: "ana")
                let now = try await now(calls)
                func owed(_ recent: Int64, notBefore begin: StrataModel.Timestamp) async throws -> Int64 {
                    let baseline = try await calls.baseline(as: "ben", since: now.advanced(by: .seconds(seconds))) {
                        $0.recent = recent
                        $0.notBefore = begin.microseconds
                    }
                    #expect(baseline.complete && baseline.epoch.isEmpty)
                    let entry = try #require(baseline.entries.first)
                    return entry.position - entry.after
                }
                #expect(try await owed(3_600_000_000, notBefore: now.advanced(by: .seconds(-3600))) == 2)
                #expect(try await owed(3_600_000_000, notBefore: now) == 0)
                #expect(try await owed(1, notBefore: now.advanced(by: .seconds(-3600))) == 0)
                // The session was created before the clock was set back.
                #expect(try await owed(3_600_000_000, notBefore: now.advanced(by: .seconds(600))) == 2)
            }
        }

        @Test("heads since a future time are the current heads")
        func heads() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation()
                let future = try await now(calls).advanced(by: .seconds(600))
                let heads = try await calls.heads(since: future)
                #expect(heads.heads.contains { $0.conversationID == Data(id) })
                #expect(heads.asOf < future.microseconds)
            }
        }
    }
}
