// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// If one path is a prefix of another, only the change that commits later remains (docs/architecture.md §3.7).
    @Suite struct MetadataRaceTests {
        /// Returns three final states: the stored tree, the tree of a client that received the publications, and the
        /// tree of one that read the log.
        private func ends(_ id: ConversationID, _ calls: CallsFixture) async throws -> [[String: String]] {
            func told(_ changes: [Change]) -> [String: String] {
                var tree = MetadataTree()
                for change in changes {
                    if case .conversationCreated(let conversation) = change.content {
                        tree = conversation?.metadata ?? tree
                    }
                    tree.applyEffects(change.effects)
                }
                return tree.flat
            }
            return [
                try await calls.tree(id), told(try calls.publishedChanges(of: id)),
                told(try await calls.readChanges(id).changes),
                told(try await calls.readLogs(as: "ben", [id: .zero]).changes),
            ]
        }

        @Test("concurrent sets of a and a.b keep one of them, consistently everywhere")
        func atOnce() async throws {
            try await CallsFixture.run { calls in
                for _ in 0..<25 {
                    let id = try await calls.conversation(["ben"])
                    async let first = calls.patch(id, by: "ana", metadata: [set("a", "1")])
                    async let second = calls.otherInstance.patch(id, by: "ben", metadata: [set("a.b", "2")])
                    let changes = try await first + second
                    #expect(Set(changes.map(\.position)) == [Position(2), Position(3)])
                    let later = changes.max { $0.position < $1.position }
                    let expected = later?.actor?.rawValue == "ana" ? ["a": "1"] : ["a.b": "2"]
                    for end in try await ends(id, calls) { #expect(end == expected) }
                }
            }
        }

        @Test("a conversation read during patches has the tree of its position")
        func reads() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                // The change at position n sets the value n.
                async let patches: Void = {
                    for number in 2...200 {
                        _ = try await calls.patch(id, metadata: [set("a", "\(number)")])
                    }
                }()
                var position = Position(1)
                while position < Position(200) {
                    let view = try await calls.otherInstance.get(id, as: "ben").conversation
                    position = view.position
                    let expected = position == Position(1) ? [:] : ["a": "\(position.rawValue)"]
                    try #require(view.metadata?.flat == expected)
                }
                try await patches
            }
        }

        @Test("a set of a.b during the commit of a replaces it and reports the replacement", arguments: [true, false])
        func waiting(shortFirst: Bool) async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let first = shortFirst ? #"[{"path":"a","set":[["a","1"]]}]"# : #"[{"path":"a.b","set":[["a.b","1"]]}]"#
                let second = shortFirst ? set("a.b", "2") : set("a", "2")
                let changes = try await calls.holding(calls.sqlPatch(id, by: "ana", metadata: first)) {
                    try await calls.patch(id, by: "ben", metadata: [second])
                }
                #expect(changes.map(\.effects.descriptions) == [shortFirst ? ["-a", "a.b=2"] : ["a=2"]])
                #expect(changes.map(\.position) == [Position(3)])
                #expect(try await calls.tree(id) == [second.path.dotted: "2"])
                let log = try await calls.readChanges(id).changes
                #expect(
                    log.map(\.effects.descriptions) == [
                        [], [shortFirst ? "a=1" : "a.b=1"], shortFirst ? ["-a", "a.b=2"] : ["a=2"],
                    ])
            }
        }

        @Test("concurrent sets of many keys all persist; for one key the last position's value persists")
        func manyKeys() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let changes = try await withThrowingTaskGroup(of: [Change].self) { group in
                    for index in 0..<40 {
                        group.addTask {
                            try await (index % 3 == 0 ? calls : calls.otherInstance)
                                .patch(
                                    id, by: index % 2 == 0 ? "ana" : "ben",
                                    metadata: [set("own.k\(index)", "\(index)"), set("shared", "\(index)")])
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                #expect(changes.map(\.position.rawValue).sorted() == Array(2...41))
                var expected = Dictionary(uniqueKeysWithValues: (0..<40).map { ("own.k\($0)", "\($0)") })
                let last = try #require(changes.max { $0.position < $1.position })
                expected["shared"] = last.effects.first { $0.path.dotted == "shared" }?.value
                for end in try await ends(id, calls) { #expect(end == expected) }
            }
        }
    }
}
