// SPDX-License-Identifier: Apache-2.0

import Model
import Postgres
import Testing

@testable import Metadata

@Suite("Trees")
struct TreesTests {
    @Test("many at once, in the order asked for, each with its position")
    func many() async throws {
        try await MetadataFixture.run { fixture in
            var ids: [ConversationID] = []
            for index in 0..<20 { ids.append(try await fixture.conversation((0..<index).map { ("k\($0).x", "v\(index)") })) }
            try await fixture.patch(ids[3], [set("new", "1")])
            let wanted = [ids[3], .random(), ids[19], ids[0], ids[3]]
            let trees = try await fixture.store.trees(wanted.map { .init(conversation: $0) }, app: fixture.app, deadline: MetadataFixture.soon)
            #expect(trees.map(\.position.rawValue) == [2, 0, 1, 1, 2])
            #expect(trees.map(\.leaves.count) == [4, 0, 19, 0, 4])
            #expect(trees[0].leaves.map(\.path.dotted) == ["k0.x", "k1.x", "k2.x", "new"])
        }
    }

    @Test("of another app are not given")
    func otherApp() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a", "1")])
            let trees = try await fixture.store.trees([.init(conversation: id)], app: .random(), deadline: MetadataFixture.soon)
            #expect(trees[0].position == .zero)
            #expect(trees[0].leaves.isEmpty)
        }
    }

    @Test("are kept for somebody who is removed, and forgotten when he is added again or the conversation goes")
    func kept() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("b.c", "1"), ("a", "ä\"")])
            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            try await fixture.patch(id, [set("a", "2"), delete("b")])
            let kept = try await fixture.tree(id, formerUser: "ben")
            #expect(kept.position == Position(1))
            #expect(kept.leaves.map { "\($0.path)=\($0.value)" } == ["a=ä\"", "b.c=1"])
            // Who has not left sees the tree as it is: whether he may is asked elsewhere.
            #expect(try await fixture.tree(id, formerUser: "eve").leaves.map(\.value) == ["2"])

            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.map(\.value) == ["2"])
            try await fixture.sql("SELECT metadata.forget_kept_tree('\(id)', 'ben')")
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.map(\.value) == ["2"])

            try await fixture.sql("SELECT metadata.keep_tree('\(id)', 'ben')")
            try await fixture.sql("SELECT metadata.drop_tree('\(id)')")
            #expect(try await fixture.tree(id).leaves.isEmpty)
            #expect(try await fixture.tree(id, formerUser: "ben").leaves.isEmpty)
        }
    }

    @Test("are equal when they hold the same values")
    func equality() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a", "1"), ("b.c", "2")])
            func equals(_ paths: String, _ values: String) async throws -> Bool {
                try await fixture.sql("SELECT metadata.equals_tree('\(id)', '\(paths)', '\(values)')")[0].get(0, as: Bool.self)
            }
            #expect(try await equals("{b.c,a}", "{2,1}"))
            #expect(try await !equals("{a}", "{1}"))
            #expect(try await !equals("{a,b.c}", "{1,3}"))
            #expect(try await !equals("{a,b.c,d}", "{1,2,3}"))
            #expect(try await !equals("{}", "{}"))
        }
    }

    @Test("are created without pairs of a path and its prefix")
    func creation() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a", "1"), ("a.b", "2"), ("a-b", "3")])
            #expect(try await fixture.tree(id).leaves.map(\.path.dotted) == ["a-b", "a.b"])
        }
    }

    @Test("the service's role reaches its own schema and what it was granted, nothing else")
    func role() async throws {
        try await MetadataFixture.run { fixture in
            for table in ["conversations.conversation", "conversations.message", "conversations.change"] {
                let text = "SELECT count(*) FROM \(table)"
                let error = await #expect(throws: PostgresError.self) {
                    try await fixture.store.reads.query(Statement("test.\(table)", sql: text), deadline: MetadataFixture.soon)
                }
                #expect(error?.sqlState == "42501")
            }
        }
    }
}
