// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Worst-case patterns of reading, delivery and hiding. The stored sets must stay small and exact.
    @Suite struct SparsePatternTests {
        private static let count = 2300
        private let ben = UserID(trusted: "ben")

        private func all(
            _ calls: CallsFixture, _ id: ConversationID, as user: String
        ) async throws -> [StrataModel.Message] {
            var messages: [StrataModel.Message] = []
            while true {
                let page = try await calls.messages(id, as: user, from: messages.last?.id)
                messages += page.messages
                guard !page.messages.isEmpty else {
                    #expect(page.total == Int64(messages.count))
                    return messages
                }
            }
        }

        /// Expects a participant's row to stay below its maximum size, whatever the participant did.
        private func checkSize(_ calls: CallsFixture, _ id: ConversationID) async throws {
            let rows = "FROM conversations.participant p WHERE p.conversation_id = '\(id)'"
            for set in ["read", "delivered", "hidden"] {
                #expect(
                    try await calls.number("SELECT max((SELECT count(*) FROM unnest(p.\(set)))) \(rows)") <= 32,
                    "\(set)")
            }
            #expect(try await calls.number("SELECT max(pg_column_size(p.*))::int8 \(rows)") < 2600)
            let blocks = "FROM conversations.receipt_block b WHERE b.conversation_id = '\(id)'"
            #expect(try await calls.number("SELECT coalesce(max(pg_column_size(b.*)), 0)::int8 \(blocks)") < 600)
            let each = "SELECT count(*) AS n \(blocks) AND b.until_position = 9223372036854775807 GROUP BY b.user_id"
            #expect(
                try await calls.number("SELECT coalesce(max(n), 0) FROM (\(each)) e") <= Int64(Self.count / 1024 + 1))
        }

        private func statuses(
            _ calls: CallsFixture, _ id: ConversationID, as user: String
        ) async throws -> [Int: RecipientStatus] {
            Dictionary(
                uniqueKeysWithValues: try await all(calls, id, as: user)
                    .compactMap { message in message.status(of: ben).map { (Int(message.ordinal), $0) } })
        }

        @Test(
            "reading every second message keeps the row small, statuses and counts exact, and counts each receipt once")
        func everyOther() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.fill(id, with: Self.count)
                let (even, odd) = (
                    Array(stride(from: 2, through: Self.count, by: 2)),
                    Array(stride(from: 1, through: Self.count, by: 2))
                )
                let others = { (ordinals: [Int]) in ordinals.filter { $0 % 7 != 0 } }
                // Each batch is spread over the whole conversation.
                for start in 0..<10 {
                    let batch = even.enumerated().filter { $0.offset % 10 == start }.map(\.element)
                    #expect(try await calls.receipts(.read, batch, in: id, by: "ben") == Int64(others(batch).count))
                    try await checkSize(calls, id)
                    #expect(try await calls.receipts(.read, batch, in: id, by: "ben") == 0)
                    #expect(try await calls.receipts(.delivery, batch, in: id, by: "ben") == 0)
                }
                #expect(try await calls.get(id, as: "ben").unreadCount == Int64(others(odd).count))
                for start in stride(from: 0, to: odd.count, by: 300) {
                    let batch = odd[start..<min(start + 300, odd.count)].filter { $0 % 3 != 0 }
                    #expect(try await calls.receipts(.delivery, batch, in: id, by: "ben") == Int64(others(batch).count))
                    try await checkSize(calls, id)
                }
                let expected = Dictionary(
                    uniqueKeysWithValues: (1...Self.count)
                        .map {
                            ($0, $0 % 2 == 0 || $0 % 7 == 0 ? RecipientStatus.read : $0 % 3 != 0 ? .delivered : .sent)
                        })
                for user in ["ana", "ben"] { #expect(try await statuses(calls, id, as: user) == expected) }
                #expect(try await calls.get(id, as: "ben").unreadCount == Int64(others(odd).count))

                // First up to a position in the middle, then all: both count exactly and leave one range.
                try await calls.markAllRead(id, by: "ben", upTo: Position(1301))
                #expect(try await calls.get(id, as: "ben").unreadCount == Int64(others(odd).filter { $0 > 1300 }.count))
                try await calls.markAllRead(id, by: "ben")
                #expect(try await calls.get(id, as: "ben").unreadCount == 0)
                #expect(try await statuses(calls, id, as: "cleo").values.allSatisfy { $0 == .read })
                try await checkSize(calls, id)
            }
        }

        @Test("single, batched and duplicate receipts have the same result")
        func batches() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.fill(id, with: 40)
                let message = { "'\(calls.bulkMessage(id, $0))'" }
                let results = { (ordinals: [Int], statuses: [Int]) in
                    """
                    SELECT array_to_string(r.results || coalesce(r.statuses, '{}')::text[], ' ') FROM conversations.give_receipts('\(calls.app)', '\(id)',
                        array_fill('ben'::text, ARRAY[\(ordinals.count)]), ARRAY[\(ordinals.map(message).joined(separator: ","))]::uuid[],
                        ARRAY[\(statuses.map { "\($0)" }.joined(separator: ","))]::int8[], 25, NULL, NULL) r
                    """
                }
                let steps: [([Int], [Int], String)] = [
                    ([3, 3, 3], [1, 2, 2], "ok ok none 1 2"), ([4, 4, 4], [2, 1, 2], "ok none none 2"),
                    ([5], [1], "ok 1"),
                    ([5, 3], [2, 1], "ok none 2"),
                    ([7, 9, 8], [2, 2, 1], "none ok ok 1 2"),
                ]
                for (ordinals, statuses, expected) in steps {
                    #expect(try await calls.text(results(ordinals, statuses)) == expected, "\(ordinals)")
                }
                // Message 7 is ben's own, so it joins the neighbouring ranges.
                _ = try await calls.receipts(.read, [6], in: id, by: "ben")
                #expect(
                    try await calls.text(
                        "SELECT read::text FROM conversations.participant WHERE conversation_id = '\(id)' AND user_id = 'ben'"
                    )
                        == "{[3,8),[9,10)}")
                #expect(try await calls.get(id, as: "ben").unreadCount == Int64(40 - 40 / 7 - 5))
            }
        }

        @Test(
            "hiding every third message keeps pages, counts and the last message exact, and skips runs of hidden messages"
        )
        func hiding() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                try await calls.fill(id, with: Self.count)
                let hide = { (ordinals: String) in
                    let prefix = calls.bulkMessage(id, 1).rawValue.uuidString.prefix(24)
                    return """
                        SELECT count(d.*) FROM (\(ordinals)) g(o) CROSS JOIN LATERAL conversations.delete_message(
                            '\(calls.app)', 'cleo', ('\(prefix)' || lpad(g.o::text, 12, '0'))::uuid, 'my_devices', NULL, NULL) d WHERE d.outcome = 'ok'
                        """
                }
                _ = try await calls.receipts(.read, Array(stride(from: 1, through: 600, by: 2)), in: id, by: "cleo")
                var hidden = Set(stride(from: 3, through: Self.count, by: 3))
                #expect(
                    try await calls.number(hide("SELECT generate_series(3, \(Self.count), 3)")) == Int64(hidden.count))
                // These messages are hidden already.
                #expect(try await calls.number(hide("SELECT generate_series(3, 300, 3)")) == 0)
                try await checkSize(calls, id)
                // A run longer than a block.
                hidden.formUnion(1000...2250)
                let expectedRun = (1000...2250).filter { $0 % 3 != 0 }.count
                #expect(try await calls.number(hide("SELECT generate_series(1000, 2250)")) == Int64(expectedRun))
                try await checkSize(calls, id)
                let seen = (1...Self.count).filter { !hidden.contains($0) }
                #expect(try await all(calls, id, as: "cleo").map(\.ordinal) == seen.reversed().map(Int64.init))
                #expect(
                    try await calls.get(id, as: "cleo").unreadCount
                        == Int64(seen.filter { $0 > 600 || $0 % 2 == 0 }.count))
                #expect(try await calls.get(id, as: "cleo").lastMessage?.ordinal == seen.last.map(Int64.init))
                #expect(try await all(calls, id, as: "ana").count == Self.count)

                // A deletion for all does not change the count of a user who had hidden the message.
                for ordinal in [3, 4, 601, 1500] {
                    try await calls.delete(calls.bulkMessage(id, ordinal), by: "ana", .allParticipants)
                }
                #expect(try await calls.get(id, as: "cleo").totalCount == Int64(seen.count - 2))
                #expect(
                    try await calls.get(id, as: "cleo").unreadCount
                        == Int64(seen.filter { ($0 > 601 || $0 < 601 && $0 % 2 == 0) && $0 != 4 }.count))
                #expect(
                    try await calls.refusal { try await calls.message(calls.bulkMessage(id, 1026), as: "cleo") }?.code
                        == .notFound)
            }
        }

        @Test(
            "a former participant keeps seeing the statuses of a sparse reader as of leaving, whichever of them left first"
        )
        func leaving() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo", "dora"])
                try await calls.fill(id, with: Self.count)
                func read(_ remainder: Int) async throws {
                    _ = try await calls.receipts(
                        .read, Array(stride(from: remainder, through: Self.count, by: 8)), in: id, by: "ben")
                }
                try await read(1)
                try await calls.patch(id, [remove("cleo")])
                let first = try await statuses(calls, id, as: "cleo")
                try await read(3)
                try await read(5)
                #expect(try await statuses(calls, id, as: "cleo") == first)
                try await calls.patch(id, [remove("dora")])
                let second = try await statuses(calls, id, as: "dora")
                #expect(second != first)
                #expect(second == (try await statuses(calls, id, as: "ana")))
                try await read(7)
                try await read(2)
                #expect(try await statuses(calls, id, as: "cleo") == first)
                #expect(try await statuses(calls, id, as: "dora") == second)
                let expected = Dictionary(
                    uniqueKeysWithValues: (1...Self.count)
                        .map { ($0, [1, 2, 3, 5, 7].contains($0 % 8) || $0 % 7 == 0) })
                #expect(try await statuses(calls, id, as: "ana").mapValues { $0 == .read } == expected)
                try await checkSize(calls, id)
            }
        }
    }
}
