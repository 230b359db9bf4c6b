// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Postgres
import StrataModel
import Testing

@testable import Metadata

@Suite("Patches")
struct PatchTests {
    @Test("a patch takes one position and records user, time and origin")
    func position() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            let change = try #require(try await fixture.patch(id, [set("a.b", "1"), set("a.c", "2")]))
            #expect(change.position == Position(2))
            #expect(change.actor == fixture.actor)
            #expect(change.origin == Change.Origin(connection: .max, request: 7))
            #expect(change.effectDescriptions == ["a.b=1", "a.c=2"])
            let row = try await fixture.sql(
                "SELECT kind, position, actor, origin_connection, origin_request, operations FROM conversations.change WHERE conversation_id = '\(id)'"
            )
            try #require(row.count == 1)
            #expect(try row[0].get(0, as: Int64.self) == 3)
            #expect(try row[0].get(1, as: Int64.self) == 2)
            #expect(try row[0].get(3, as: Int64.self) == -1)
            #expect(try row[0].get(5, as: String.self) == #"{"effects": [["a.b", "1"], ["a.c", "2"]]}"#)
            #expect(
                try await fixture.number("SELECT max(position) FROM metadata.leaf WHERE conversation_id = '\(id)'") == 2
            )
        }
    }

    @Test("a patch without effect takes no position and writes nothing")
    func unchanged() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a.b", "1"), ("c", "2")])
            let nothing: [[MetadataOperation]] = [
                [], [set("a.b", "1")], [delete("x")], [delete("a.b.c")], [set("c.d", [])],
                [set("", [("a.b", "1"), ("c", "2")])],
                [set("", [("c", "2"), ("a.b", "1")])],
                [set("a.b", "9"), set("a.b", "1")], [delete("a"), set("a.b", "1")], [set("n", "1"), delete("n")],
            ]
            for operations in nothing {
                #expect(try await fixture.patch(id, operations) == nil, "\(operations)")
            }
            #expect(try await fixture.tree(id).position == Position(1))
            #expect(
                try await fixture.number("SELECT count(*) FROM conversations.change WHERE conversation_id = '\(id)'")
                    == 0)
        }
    }

    /// Returns the outcome of a patch in a transaction shared with other statements.
    private func sharedOutcome(
        _ id: ConversationID, _ operations: [MetadataOperation], _ fixture: MetadataFixture
    ) async throws -> String {
        let json = MetadataJSON.encode(operations)
        let text =
            "SELECT outcome FROM metadata.patch('\(fixture.app)', '\(id)', 'ana', '\(json)', NULL, NULL, NULL, NULL, true)"
        return try await fixture.sql(text)[0].get(0, as: String.self)
    }

    @Test("a patch that removes many values runs alone in its transaction, after writing nothing in a shared one")
    func manyValues() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation(
                (0..<600).map { ("a.k\($0)", "1") } + (0..<400).map { ("b.k\($0)", "1") })
            #expect(try await sharedOutcome(id, [delete("a")], fixture) == "large")
            #expect(try await fixture.tree(id).position == Position(1))
            #expect(
                try await fixture.number("SELECT leaves FROM metadata.tree WHERE conversation_id = '\(id)'") == 1000)
            #expect(try await sharedOutcome(id, [delete("b")], fixture) == "ok")
            #expect(try await fixture.patch(id, [delete("a")])?.effectDescriptions == ["-a"])
            #expect(try await fixture.tree(id).leaves.isEmpty)
        }
    }

    @Test("a patch that writes index entries for many participants runs alone in its transaction")
    func indexedPaths() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            try await fixture.sql(
                "INSERT INTO metadata.index_path (app_id, path) VALUES ('\(fixture.app)', 'a'), ('\(fixture.app)', 'b')"
            )
            try await fixture.sql("UPDATE conversations.conversation SET is_indexed = true WHERE id = '\(id)'")
            let users = "(SELECT array_agg('u' || n) FROM generate_series(1, 300) n)"
            try await fixture.sql(
                "INSERT INTO conversations.roster (conversation_id, user_ids) VALUES ('\(id)', \(users))")
            func entries() async throws -> Int64 {
                try await fixture.number("SELECT count(*) FROM metadata.index_entry WHERE conversation_id = '\(id)'")
            }
            #expect(try await sharedOutcome(id, [set("a", "1"), set("b", "1")], fixture) == "large")
            #expect(try await entries() == 0)
            #expect(try await fixture.tree(id).position == Position(1))
            // A patch of one indexed path is small enough, as is one of any number of paths without an index.
            #expect(try await sharedOutcome(id, [set("a", "1")] + (0..<40).map { set("c\($0)", "1") }, fixture) == "ok")
            #expect(try await entries() == 301)
            #expect(try await fixture.patch(id, [set("a", "2"), set("b", "2")])?.effectDescriptions == ["a=2", "b=2"])
            #expect(try await entries() == 602)
        }
    }

    @Test("a patch returns exactly the changed values")
    func effects() async throws {
        let cases: [([(String, String)], [MetadataOperation], [String])] = [
            // Deletion of a subtree's last leaf is announced for the highest emptied ancestor.
            ([("a.b.c", "1"), ("x", "1")], [delete("a.b.c")], ["-a"]),
            ([("a.b.c", "1"), ("a.d", "1")], [delete("a.b.c")], ["-a.b"]),
            // A scalar becomes a subtree, and vice versa.
            ([("a", "1")], [set("a.b", "2")], ["-a", "a.b=2"]),
            ([("a.b", "1"), ("a.c", "2")], [set("a", "3")], ["a=3"]),
            ([("a.b", "1"), ("a.c", "2")], [set("a", [("a.c", "2"), ("a.d", "3")])], ["-a.b", "a.d=3"]),
            (
                [("a", "1"), ("b.c", "2"), ("d", "3")], [set("", [("d", "4"), ("e", "5")])], ["-a", "-b", "d=4", "e=5"]
            ),
            ([("a", "1"), ("b.c", "2")], [delete("")], ["-a", "-b"]),
            // Several operations have the effect of their net difference.
            ([("a", "1")], [set("a", "2"), set("a", "3"), set("b", "1"), delete("b")], ["a=3"]),
            ([("a.b", "1")], [set("a", "2"), set("a.b", "1")], []),
            // Keys adjacent to '.' in byte order are not part of a subtree.
            ([("a.b", "1"), ("a-b", "2"), ("a0", "3")], [delete("a")], ["-a"]),
        ]
        try await MetadataFixture.run { fixture in
            for (before, operations, told) in cases {
                let id = try await fixture.conversation(before)
                #expect(try await fixture.patch(id, operations)?.effectDescriptions ?? [] == told, "\(operations)")
            }
        }
    }

    @Test("a patch is refused to non-participants, former participants and other apps")
    func refused() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation(participants: ["ana", "ben"])
            try await fixture.sql(
                "UPDATE conversations.participant SET left_position = 1 WHERE conversation_id = '\(id)' AND user_id = 'ben'"
            )
            func refusal(_ body: () async throws -> Change?) async -> Failure.Code? {
                do {
                    _ = try await body()
                    return nil
                } catch { return (error as? Failure)?.code }
            }
            #expect(await refusal { try await fixture.patch(id, [set("a", "1")], by: "eve") } == .notFound)
            #expect(await refusal { try await fixture.patch(id, [set("a", "1")], by: "ben") } == .accessDenied)
            #expect(await refusal { try await fixture.patch(id, [set("a", "1")], app: .random()) } == .notFound)
            #expect(await refusal { try await fixture.patch(.random(), [set("a", "1")]) } == .notFound)
            #expect(try await fixture.tree(id).leaves.isEmpty)
        }
    }

    @Test("a patch of one key of 10,000 writes one row")
    func oneRow() async throws {
        try await MetadataFixture.run { fixture in
            let leaves = (0..<10_000).map { ("g\($0 / 100).k\($0)", "v") }
            let id = try await fixture.conversation(leaves)
            let xmin =
                try await fixture.sql("SELECT min(xmin::text) FROM metadata.leaf WHERE conversation_id = '\(id)'")[0]
                .get(0, as: String.self)
            func written() async throws -> Int64 {
                try await fixture.number(
                    "SELECT count(*) FROM metadata.leaf WHERE conversation_id = '\(id)' AND xmin::text <> '\(xmin)'")
            }
            #expect(try await fixture.patch(id, [set("g7.k777", "w")])?.effectDescriptions == ["g7.k777=w"])
            #expect(try await written() == 1)
            // A replacement writes only differing values.
            let same = leaves.map { ($0.0, $0.0 == "g3.k300" ? "z" : $0.0 == "g7.k777" ? "w" : $0.1) }
            #expect(try await fixture.patch(id, [set("", same)])?.effectDescriptions == ["g3.k300=z"])
            #expect(try await written() == 2)
            #expect(try await fixture.patch(id, [delete("g5")])?.effectDescriptions == ["-g5"])
            #expect(try await written() == 2)
            #expect(try await fixture.tree(id).leaves.count == 9900)
        }
    }

    @Test("a patch must keep the operator's key limit, if set")
    func limit() async throws {
        try await MetadataFixture.run(limits: MetadataLimits(keys: 3)) { fixture in
            let id = try await fixture.conversation([("a", "1"), ("b", "1"), ("c", "1")])
            let failure = await #expect(throws: Failure.self) { try await fixture.patch(id, [set("d", "1")]) }
            #expect(failure?.code == .invalidProperty)
            #expect(failure?.detail == .property("metadata"))
            #expect(try await fixture.patch(id, [set("d", "1"), delete("a")])?.effectDescriptions == ["-a", "d=1"])
            #expect(try await fixture.patch(id, [set("b", "2")])?.effectDescriptions == ["b=2"])
            // The limit was lowered below the tree's size: shrinking is allowed, growing is not.
            try await fixture.sql("SELECT metadata.create_tree('\(id)', '{x,y}', '{1,1}', 1)")
            #expect(try await fixture.patch(id, [delete("x")])?.effectDescriptions == ["-x"])
            await #expect(throws: Failure.self) { try await fixture.patch(id, [set("z", "1")]) }
        }
    }

    @Test("a patch must keep the byte limit: paths and values of all leaves")
    func bytes() async throws {
        try await MetadataFixture.run(limits: MetadataLimits(keys: 9, bytes: 20)) { fixture in
            let id = try await fixture.conversation([("a", "1234"), ("b.é", "ü")])
            #expect(try await fixture.sizes(id) == [[11, 2, 11, 2]])
            // Exactly up to the limit is allowed, one byte more is not.
            #expect(try await fixture.patch(id, [set("c", "12345678")])?.effectDescriptions == ["c=12345678"])
            let tooLarge: [[MetadataOperation]] = [
                [set("c", "123456789")], [set("d", "")], [set("a", "1"), set("e", "1234")],
                [set("", [("a", "12345"), ("b", "1234567890123456")])],
                [set("c.d", "12345678")],
            ]
            for operations in tooLarge {
                let failure = await #expect(throws: Failure.self) { try await fixture.patch(id, operations) }
                #expect(
                    failure == .invalid("metadata", reason: "would have more than 20 bytes of paths and values"),
                    "\(operations)")
            }
            let tooMany = (0..<10).map { set("k\($0)", "1") }
            await #expect(throws: Failure.invalid("metadata", reason: "would have more than 9 keys")) {
                try await fixture.patch(id, tooMany)
            }
            #expect(try await fixture.tree(id).position == Position(2))
            // A patch that also removes values may add others within the limit.
            #expect(try await fixture.patch(id, [set("a", "1"), set("c", "12345678901")]) != nil)
            #expect(try await fixture.patch(id, [set("", [("a", "1"), ("b.é", "ü"), ("c", "12345678901")])]) == nil)
            #expect(try await fixture.sizes(id) == [[20, 3, 20, 3]])
        }
    }

    @Test("a patch may shrink or keep a tree above the limit, and not enlarge it")
    func largerThanTheLimit() async throws {
        try await MetadataFixture.run(limits: MetadataLimits(bytes: 20)) { fixture in
            let id = try await fixture.conversation((0..<10).map { ("k\($0)", "value") })
            #expect(try await fixture.sizes(id) == [[70, 10, 70, 10]])
            for operations in [[set("k0", "values")], [set("new", "")], [delete("k1"), set("new", "12345")]] {
                await #expect(throws: Failure.self, "\(operations)") { try await fixture.patch(id, operations) }
            }
            #expect(try await fixture.patch(id, [set("k0", "other")])?.effectDescriptions == ["k0=other"])
            #expect(
                try await fixture.patch(id, [delete("k1"), set("new", "1234")])?.effectDescriptions == [
                    "-k1", "new=1234",
                ])
            #expect(try await fixture.patch(id, [set("k0", "")])?.effectDescriptions == ["k0="])
            #expect(try await fixture.patch(id, [set("", [("one", "12345678901234567")])]) != nil)
            #expect(try await fixture.sizes(id) == [[20, 1, 20, 1]])
        }
    }

    @Test("a patch computes the size of a tree without a stored size")
    func uncounted() async throws {
        try await MetadataFixture.run(limits: MetadataLimits(bytes: 20)) { fixture in
            let id = try await fixture.conversation([("a", "1234"), ("b", "1234")])
            try await fixture.sql("DELETE FROM metadata.tree WHERE conversation_id = '\(id)'")
            #expect(try await fixture.patch(id, [set("a", "4321")]) != nil)
            #expect(try await fixture.sizes(id).isEmpty)
            await #expect(throws: Failure.self) { try await fixture.patch(id, [set("c", "1234567890")]) }
            #expect(try await fixture.patch(id, [set("c", "123456789")]) != nil)
            #expect(try await fixture.sizes(id) == [[20, 3, 20, 3]])
            // Simulate a tree without recorded sizes, as when only a removal was recorded.
            try await fixture.sql(
                "UPDATE metadata.tree SET bytes = NULL, leaves = NULL WHERE conversation_id = '\(id)'")
            await #expect(throws: Failure.self) { try await fixture.patch(id, [set("d", "")]) }
            #expect(try await fixture.patch(id, [delete("c")]) != nil)
            #expect(try await fixture.sizes(id) == [[10, 2, 10, 2]])
        }
    }
}
