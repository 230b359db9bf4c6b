// SPDX-License-Identifier: Apache-2.0

import Postgres
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Metadata

@Suite("Metadata trees")
struct TreesTests {
    @Test("a tree is read if it fits, whether its size is recorded or not")
    func room() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation((0..<20).map { ("k\($0).x", "v\($0)") })
            func isRead(within room: Int, formerUser: String = "NULL") async throws -> Bool {
                try await
                    fixture.sql(
                        "SELECT paths IS NOT NULL FROM metadata.tree_within(\(room), '\(id)', \(formerUser), 1)")[0]
                    .get(0, as: Bool.self)
            }
            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            for isCounted in [true, false] {
                if !isCounted {
                    try await fixture.sql("UPDATE metadata.tree SET bytes = NULL WHERE conversation_id = '\(id)'")
                }
                for user in ["NULL", "'ben'"] {
                    #expect(try await isRead(within: 10_000, formerUser: user))
                    #expect(try await !isRead(within: 100, formerUser: user))
                    #expect(try await !isRead(within: 0, formerUser: user))
                }
            }
        }
    }

    @Test("a removed user's tree is kept, and deleted when the user is re-added or the conversation is deleted")
    func kept() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("b.c", "1"), ("a", "ä\"")])
            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            try await fixture.patch(id, [set("a", "2"), delete("b")])
            let kept = try await fixture.tree(id, formerUser: "ben")
            #expect(kept.leaves.map { "\($0.path)=\($0.value)" } == ["a=ä\"", "b.c=1"])
            // There is no tree for a user who has not left.
            #expect(try await fixture.tree(id, formerUser: "eve").leaves.isEmpty)

            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.map(\.value) == ["2"])
            try await fixture.sql("SELECT metadata.forget_kept_tree('\(id)', 'ben')")
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.isEmpty)

            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            try await fixture.sql("SELECT metadata.drop_tree('\(id)')")
            #expect(try await fixture.tree(id).leaves.isEmpty)
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.isEmpty)
        }
    }

    /// Takes a separate position for the removal of `user` and keeps the tree.
    private func remove(_ user: String, from id: ConversationID, _ fixture: MetadataFixture) async throws {
        try await fixture.sql(
            "SELECT conversations.append_change('\(id)', 2::smallint, 'ana', NULL, NULL, NULL, NULL, NULL)")
        try await fixture.sql("SELECT metadata.keep_tree('\(id)', '\(user)')")
    }

    @Test(
        "trees of many removed users are kept, read unchanged, and deleted completely",
        arguments: 1...3 as ClosedRange<UInt64>)
    func keptAtRandom(seed: UInt64) async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a.b", "1"), ("b", "2")])
            var patches = PatchGenerator(random: SeededGenerator(seed: seed))
            var random = SeededGenerator(seed: seed + 100)
            var kept: [String: StoredTree] = [:]
            for round in 0..<300 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0, 1:
                    let users = ["u\(round)", "v\(round)"].prefix(Int.random(in: 1...2, using: &random))
                    try await remove(users[0], from: id, fixture)
                    for user in users.dropFirst() {
                        try await fixture.sql("SELECT metadata.keep_tree('\(id)', '\(user)')")
                    }
                    let tree = try await fixture.tree(id)
                    for user in users { kept[user] = tree }
                case 2:
                    guard let user = kept.keys.sorted().randomElement(using: &random) else { continue }
                    try await fixture.sql("SELECT metadata.forget_kept_tree('\(id)', '\(user)')")
                    kept[user] = nil
                    if Bool.random(using: &random) { try await fixture.sql("SELECT metadata.sweep(2)") }
                default: try await fixture.patch(id, patches.patch())
                }
            }
            try #require(kept.count > 5)
            for (user, tree) in kept {
                let read = try await fixture.tree(id, formerUser: user)
                #expect(read.leaves == tree.leaves, "seed \(seed), \(user)")
            }
            #expect(
                try await fixture.number("SELECT count(*) FROM metadata.kept_leaf WHERE conversation_id = '\(id)'") > 0)
            for user in kept.keys { try await fixture.sql("SELECT metadata.forget_kept_tree('\(id)', '\(user)')") }
            try await sweep(fixture)
            #expect(
                try await fixture.number("SELECT count(*) FROM metadata.kept_leaf WHERE conversation_id = '\(id)'") == 0
            )
            // Nothing is kept, because there is no former participant left.
            try await fixture.patch(id, [set("", [("z", "1")])])
            #expect(
                try await fixture.number("SELECT count(*) FROM metadata.kept_leaf WHERE conversation_id = '\(id)'") == 0
            )
        }
    }

    private func sweep(_ fixture: MetadataFixture) async throws {
        while try await fixture.number("SELECT metadata.sweep(50)") > 0 {}
        #expect(try await fixture.number("SELECT count(*) FROM metadata.forgotten_tree") == 0)
    }

    @Test("a removal copies no tree of any size; a later change is stored once for all former participants")
    func withoutCopies() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation((0..<2000).map { ("k\($0)", "v") })
            func kept() async throws -> Int64 {
                try await fixture.number("SELECT count(*) FROM metadata.kept_leaf WHERE conversation_id = '\(id)'")
            }
            for user in 0..<20 { try await remove("u\(user)", from: id, fixture) }
            #expect(try await kept() == 0)
            for value in ["w", "x", "y"] { try await fixture.patch(id, [set("k7", value), delete("k8")]) }
            #expect(try await kept() == 2)
            #expect(try await fixture.tree(id, formerUser: "u3").leaves.count == 2000)
            try await fixture.sql("SELECT metadata.drop_tree('\(id)')")
            #expect(try await fixture.tree(id, formerUser: "u3").leaves.isEmpty)
            try await sweep(fixture)
            #expect(try await kept() == 0)
        }
    }

    @Test("reading a kept tree skips versions kept for other users")
    func keptAmongMany() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation((0..<10).map { ("k\($0)", "0") })
            for round in 1...100 {
                try await fixture.patch(id, [set("", (0..<10).map { ("k\($0)", "\(round)") })])
                try await remove("u\(round)", from: id, fixture)
            }
            try await fixture.patch(id, [set("", [])])
            #expect(
                try await fixture.number("SELECT count(*) FROM metadata.kept_leaf WHERE conversation_id = '\(id)'")
                    == 1000)
            try await fixture.sql(
                """
                CREATE FUNCTION rows_read(conversation uuid, at_position bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
                DECLARE
                    counter text := 'SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables WHERE relname = ''kept_leaf''';
                    before bigint;
                    after bigint;
                BEGIN
                    EXECUTE counter INTO before;
                    PERFORM metadata.kept_leaves(conversation, at_position, 1000);
                    EXECUTE counter INTO after;
                    RETURN after - before;
                END
                $$
                """)
            for user in [1, 50, 100] {
                #expect(
                    try await fixture.tree(id, formerUser: "u\(user)").leaves.map(\.value)
                        == Array(repeating: "\(user)", count: 10))
                let read =
                    "SELECT rows_read('\(id)', position) FROM metadata.kept_tree WHERE conversation_id = '\(id)' AND user_id = 'u\(user)'"
                #expect(try await fixture.number(read) == 10)
            }
        }
    }

    @Test("trees are equal when they hold the same values")
    func equality() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a", "1"), ("b.c", "2")])
            func equals(_ paths: String, _ values: String) async throws -> Bool {
                try await fixture.sql("SELECT metadata.equals_tree('\(id)', '\(paths)', '\(values)')")[0]
                    .get(0, as: Bool.self)
            }
            #expect(try await equals("{b.c,a}", "{2,1}"))
            #expect(try await !equals("{a}", "{1}"))
            #expect(try await !equals("{a,b.c}", "{1,3}"))
            #expect(try await !equals("{a,b.c,d}", "{1,2,3}"))
            #expect(try await !equals("{}", "{}"))
        }
    }

    @Test("trees with keys that are no longer valid are readable, and these keys can be deleted")
    func reservedKeys() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("__proto__.x", "1"), ("a.constructor", "2")])
            #expect(try await fixture.tree(id).leaves.map(\.path.dotted) == ["__proto__.x", "a.constructor"])
            let operations = [delete("__proto__.x"), delete("a")]
            try MetadataPatchValidation().checkOperations(operations)
            #expect(try await fixture.patch(id, operations)?.effectDescriptions == ["-__proto__", "-a"])
        }
    }

    @Test("a tree is created without pairs of a path and its prefix")
    func creation() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a", "1"), ("a.b", "2"), ("a-b", "3")])
            #expect(try await fixture.tree(id).leaves.map(\.path.dotted) == ["a-b", "a.b"])
        }
    }

    @Test("the service's role has access only to its own schema and its grants")
    func role() async throws {
        try await MetadataFixture.run { fixture in
            for table in ["conversations.conversation", "conversations.message", "conversations.change"] {
                let text = "SELECT count(*) FROM \(table)"
                let error = await #expect(throws: PostgresError.self) {
                    try await fixture.store.exclusive.query(
                        Statement("test.\(table)", sql: text), deadline: MetadataFixture.soon)
                }
                #expect(error?.sqlState == "42501")
            }
        }
    }
}
