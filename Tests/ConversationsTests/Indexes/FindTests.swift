// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct FindTests {
        /// Runs `body` with an app that has an index of `status`.
        private func run(_ body: (CallsFixture) async throws -> Void) async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.index("status")
                try await body(calls)
            }
        }

        @Test("equality, presence and prefix queries return exactly the matches in order, with any page size")
        func conditions() async throws {
            try await run { calls in
                var ids: [String: [ConversationID]] = [:]
                for value in ["open", "opening", "op", "closed", "open", "", "ope", "open", "öffnen"] {
                    let id = try await calls.conversation(metadata: ["status": value, "x": "1"])
                    ids[value, default: []].insert(id, at: 0)
                }
                _ = try await calls.conversation(metadata: ["status.sub": "open"])
                _ = try await calls.conversation()
                let open = ids["open"] ?? []
                let prefixed = ["op", "ope", "open", "opening"].flatMap { ids[$0] ?? [] }
                let all = ["", "closed", "op", "ope", "open", "opening", "öffnen"].flatMap { ids[$0] ?? [] }
                for pageSize: Int32 in [1, 2, 100] {
                    #expect(try await calls.findAll("status", .equals("open"), pageSize: pageSize) == open)
                    #expect(try await calls.findAll("status", .hasPrefix("op"), pageSize: pageSize) == prefixed)
                    #expect(try await calls.findAll("status", .exists, pageSize: pageSize) == all)
                    #expect(try await calls.findAll("status", .exists, of: "ben", pageSize: pageSize) == all)
                }
                #expect(try await calls.find("status", .equals("")).ids == ids[""])
                #expect(try await calls.find("status", .equals("OPEN")).ids.isEmpty)
                let page = try await calls.find("status", .hasPrefix("op"), pageSize: 2)
                #expect(page.total == 6 && page.next == page.ids.last)
                #expect(try await calls.find("status", .equals("none")).total == 0)
            }
        }

        @Test("queries distinguish values of maximum length and find them by prefix")
        func long() async throws {
            try await run { calls in
                let beginning = String(repeating: "x", count: 224)
                let values = [
                    beginning, beginning + "a", beginning + "b", beginning + String(repeating: "é", count: 912),
                ]
                var ids: [ConversationID] = []
                for value in values { ids.append(try await calls.conversation(metadata: ["status": value])) }
                for (id, value) in zip(ids, values) {
                    #expect(try await calls.find("status", .equals(value)).ids == [id])
                }
                #expect(Set(try await calls.find("status", .hasPrefix(beginning)).ids) == Set(ids))
                #expect(Set(try await calls.find("status", .hasPrefix("xx")).ids) == Set(ids))
                #expect(try await calls.find("status", .hasPrefix(beginning)).ids.first == ids[0])
                let user = String(repeating: "u", count: 128)
                let far = try await calls.conversation([user], metadata: ["status": values[3]])
                #expect(try await calls.find("status", .exists, of: user).ids == [far])
            }
        }

        @Test(
            "a query covers the user's list: left conversations as of leaving, no deleted ones, rejoined ones as they are now"
        )
        func ofUser() async throws {
            try await run { calls in
                let (left, hidden, kept) = (
                    try await calls.conversation(["ben"], metadata: ["status": "open"]),
                    try await calls.conversation(["ben"], metadata: ["status": "open"]),
                    try await calls.conversation(["ben", "cleo"], metadata: ["status": "open"])
                )
                _ = try await calls.conversation(["cleo"], metadata: ["status": "open"])
                #expect(try await calls.find("status", .equals("open"), of: "ben").ids == [kept, hidden, left])
                #expect(try await calls.find("status", .equals("open"), of: "no-one").total == 0)
                try await calls.patch(left, [remove("ben")], metadata: [set("status", "closed")])
                try await calls.execute(calls.sqlMetadata(left, by: "ana", [set("status", "lost")]))
                try await calls.delete(hidden, by: "ben", .myDevices)
                let found = try await calls.find("status", .equals("open"), of: "ben")
                #expect(found.ids == [kept, left] && found.total == 2)
                #expect(try await calls.find("status", .equals("lost"), of: "ben").ids.isEmpty)
                #expect(try await calls.find("status", .equals("lost"), of: "ana").ids == [left])
                // Either conversation is a valid cursor for the other, and so is one removed from the list.
                #expect(try await calls.find("status", .equals("open"), of: "ben", from: kept).ids == [left])
                #expect(try await calls.find("status", .equals("open"), of: "ben", from: hidden).ids == [left])
                try await calls.patch(left, [add("ben")])
                #expect(try await calls.find("status", .equals("lost"), of: "ben").ids == [left])
                try await calls.send(hidden, by: "ana")
                #expect(try await calls.find("status", .equals("open"), of: "ben").ids == [kept, hidden])
                try await calls.delete(kept, by: "ana", .allParticipants)
                #expect(try await calls.find("status", .equals("open"), of: "cleo").total == 1)
            }
        }

        @Test(
            "a page may continue after a conversation that no longer matches, if all matches share one value; a foreign cursor is refused"
        )
        func cursors() async throws {
            try await run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<3 { ids.insert(try await calls.conversation(metadata: ["status": "open"]), at: 0) }
                try await calls.execute(calls.sqlMetadata(ids[1], by: "ana", [set("status", "closed")]))
                #expect(try await calls.find("status", .equals("open"), from: ids[1]).ids == [ids[2]])
                #expect(try await calls.find("status", .equals("open"), of: "ana", from: ids[1]).ids == [ids[2]])
                for (test, user, cursor) in [
                    (.hasPrefix("op"), "", ids[1]), (.equals("open"), "cleo", ids[0]), (.exists, "", .random()),
                    (.equals("open"), "", .random()),
                ] as [(MetadataCondition.Test, String, ConversationID)] {
                    let refused = try await calls.refusal {
                        try await calls.find("status", test, of: user, from: cursor)
                    }
                    #expect(
                        user.isEmpty ? refused?.code == .notFound : refused?.detail == .property("from_id"),
                        "\(test) \(user)")
                }
            }
        }

        @Test("a query refuses an unindexed path and another app's path, by name")
        func notIndexed() async throws {
            try await run { calls in
                for (calls, path) in [(calls, "statu"), (calls, "status.sub"), (calls.with(app: .random()), "status")] {
                    let refused = try await calls.refusal { try await calls.find(path, .exists) }
                    #expect(refused?.code == .invalidProperty && refused?.detail == .property("metadata.\(path)"))
                }
            }
        }

        @Test("the rows that a query reads do not grow with non-matching conversations of the app or the user")
        func cost() async throws {
            try await run { calls in
                try await calls.execute(Self.explain)
                func pages(_ user: String, _ kind: String, _ value: String) async throws -> Int64 {
                    let query =
                        "metadata.find_conversations('\(calls.app)', '\(user)', 'status', '\(kind)', '\(value)', 10, NULL, 10000)"
                    // The first execution in a session also plans the query, so execute it twice. A second statement
                    // might use another session.
                    return try await calls.number(
                        "SELECT least(pg_temp_pages($$\(query)$$), pg_temp_pages($$\(query)$$))")
                }
                func load(_ count: Int, _ value: String) async throws {
                    try await calls.execute(
                        """
                        DO $load$ BEGIN
                            PERFORM conversations.create_conversation('\(calls.app)', 'ana', gen_random_uuid(), ARRAY['ben'], false, ARRAY['status'],
                                ARRAY['\(value)'], 6, NULL, NULL) FROM generate_series(1, \(count));
                        END $load$
                        """)
                }
                try await load(20, "open")
                try await load(20, "closed")
                let queries = [
                    ("", "equal", "open"), ("ana", "equal", "open"), ("", "prefix", "op"), ("ben", "prefix", "ope"),
                ]
                var before: [Int64] = []
                for query in queries { before.append(try await pages(query.0, query.1, query.2)) }
                try await load(4000, "closed")
                for (query, before) in zip(queries, before) {
                    let after = try await pages(query.0, query.1, query.2)
                    // Indexes have one more level now, which each match's lookup traverses. Reading 4,000 conversations
                    // would take thousands of pages.
                    #expect(after <= before + 60, "\(query): \(before) pages, then \(after)")
                }
            }
        }

        /// A function that returns the number of pages that a query reads.
        private static let explain = """
            CREATE OR REPLACE FUNCTION pg_temp_pages(query text) RETURNS bigint LANGUAGE plpgsql AS $$
            DECLARE plan jsonb;
            BEGIN
                EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM ' || query INTO plan;
                RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
            END $$
            """
    }
}
