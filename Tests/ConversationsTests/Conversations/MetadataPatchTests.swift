// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Metadata in a patch of a conversation. The tests of the metadata service, which uses the same functions, cover
    /// the details.
    @Suite struct MetadataPatchTests {
        @Test("a patch adds a set key, replaces a set tree and removes a deleted key; its change lists the differences")
        func operations() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a.x": "1", "a.y": "2", "b": "3"])
                let steps: [([MetadataOperation], descriptions: [String], tree: [String: String])] = [
                    ([set("a.z", "4")], ["a.z=4"], ["a.x": "1", "a.y": "2", "a.z": "4", "b": "3"]),
                    (
                        [set("a", ["a.x": "1", "a.w": "5"])], ["-a.y", "-a.z", "a.w=5"],
                        ["a.x": "1", "a.w": "5", "b": "3"]
                    ),
                    (
                        [delete("a.w"), set("b", "6"), set("c.d.e", "7")], ["-a.w", "b=6", "c.d.e=7"],
                        ["a.x": "1", "b": "6", "c.d.e": "7"]
                    ),
                    ([delete("c.d.e")], ["-c"], ["a.x": "1", "b": "6"]),
                    ([set("b", [:])], ["-b"], ["a.x": "1"]),
                    ([set("", ["new": "8"])], ["-a", "new=8"], ["new": "8"]),
                    ([delete("")], ["-new"], [:]),
                ]
                for (index, step) in steps.enumerated() {
                    let changes = try await calls.patch(id, by: "ben", metadata: step.0)
                    #expect(changes.map(\.effects.descriptions) == [step.descriptions])
                    #expect(changes.map(\.position) == [Position(Int64(index + 2))])
                    #expect(try await calls.tree(id) == step.tree)
                    #expect(try calls.publishedChanges(of: id).last == changes.last)
                }
                let log = try await calls.readChanges(id).changes.dropFirst()
                #expect(log.map(\.effects.descriptions) == steps.map(\.descriptions))
            }
        }

        @Test("a patch without effect makes no change")
        func withoutEffect() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a.x": "1"])
                for operations in [
                    [set("a.x", "1")], [delete("b")], [set("a", ["a.x": "1"])], [set("b", "1"), delete("b")],
                    [delete("a.x.y")],
                ] {
                    #expect(try await calls.patch(id, metadata: operations).isEmpty)
                }
                #expect(try await calls.get(id).conversation.position == Position(1))
                #expect(try await calls.tree(id) == ["a.x": "1"])
            }
        }

        @Test("neither a creation nor a patch can exceed the key limit; a tree at the limit can still change")
        func tooManyKeys() async throws {
            try await CallsFixture.run { calls in
                func keys(_ count: Int) -> [String: String] {
                    Dictionary(uniqueKeysWithValues: (0..<count).map { ("k.k\($0)", "1") })
                }
                let limit = CallsFixture.metadataLimits.keys ?? 0
                let refused = try await calls.refusal {
                    try await calls.create(["ben"], id: .random(), metadata: keys(limit + 1))
                }
                #expect(refused?.detail == .property("metadata"))
                let id = try await calls.conversation(["ben"], metadata: keys(limit))
                let patch = try await calls.refusal {
                    try await calls.patch(id, [add("cleo")], metadata: [set("one.more", "1")])
                }
                #expect(patch?.detail == .property("metadata"))
                #expect(try await calls.get(id).conversation.participants.count == 2)
                try await calls.patch(id, metadata: [set("k.k0", "2"), delete("k.k1"), set("other", "1")])
                #expect(try await calls.tree(id).count == limit)
            }
        }

        @Test("neither a creation nor a patch can exceed the byte limit; a refused patch has no partial effect")
        func tooLarge() async throws {
            try await CallsFixture.run { calls in
                func values(_ count: Int) -> [String: String] {
                    Dictionary(
                        uniqueKeysWithValues: (10..<10 + count).map { ("k\($0)", String(repeating: "v", count: 1997)) })
                }
                let told = Failure.invalid("metadata", reason: "would have more than 30000 bytes of paths and values")
                #expect(
                    try await calls.refusal { try await calls.create(["ben"], id: .random(), metadata: values(16)) }
                        == told)
                let id = try await calls.conversation(["ben"], metadata: values(15))
                for operation in [set("more", ""), set("k10", String(repeating: "w", count: 1998))] {
                    #expect(
                        try await calls.refusal { try await calls.patch(id, [add("cleo")], metadata: [operation]) }
                            == told)
                }
                #expect(try await calls.get(id).conversation.participants.count == 2)
                #expect(try await calls.readChanges(id).head == Position(1))
                try await calls.patch(
                    id, [add("cleo")], metadata: [delete("k10"), set("k99", String(repeating: "w", count: 1997))])
                #expect(try await calls.tree(id).count == 15)
                #expect(try await calls.refusal { try await calls.patch(id, metadata: [set("more", "")]) } == told)
            }
        }

        @Test("values of 2048 bytes and paths of 1024 are stored; a longer one refuses its whole patch")
        func limits() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let value = String(repeating: "é", count: 1024)
                let path = String(repeating: "k", count: 1024)
                try await calls.patch(id, metadata: [set("a", value), set(path, "1")])
                #expect(try await calls.tree(id) == ["a": value, path: "1"])
                for operation in [set("a", value + "x"), set(path + "k", "1"), set("z", ["z.a": value + "x"])] {
                    let refusal = try await calls.refusal {
                        try await calls.patch(id, metadata: [set("b", "1"), operation])
                    }
                    #expect(refusal?.code == .invalidProperty)
                }
                let create = try await calls.refusal {
                    try await calls.create(["ben"], id: .random(), metadata: ["a": value + "x"])
                }
                #expect(create == .invalid("metadata.a", reason: "is longer than 2048 bytes"))
                #expect(try await calls.tree(id) == ["a": value, path: "1"])
                #expect(try await calls.readChanges(id).head == Position(2))
                #expect(try await calls.list().total == 1)
            }
        }

        @Test("a patch with participants is validated before it reaches the database, as in the metadata service")
        func validation() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let tooMany = (0..<CallsFixture.patchItems / 2 + 1).map { set("k\($0)", "1") }
                for operations in [
                    [set("a b", "1")], [set("a", ["b": "1"])], [set("a", ["a.b": "1", "a.b.c": "2"])], tooMany,
                ] {
                    let told = #expect(throws: Failure.self) {
                        try MetadataPatchValidation(maximumItems: CallsFixture.patchItems).checkOperations(operations)
                    }
                    #expect(
                        try await calls.refusal { try await calls.patch(id, [add("ben")], metadata: operations) }
                            == told, "\(operations)")
                }
                #expect(try await calls.readChanges(id).head == Position(1))
            }
        }

        @Test("patches with many or long values use separate connections")
        func alone() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                // With any other connection these calls would wait forever.
                let large = calls.withLargePoolOnly
                try await large.patch(id, [remove("eve")], metadata: [set("", ["a": "1"])])
                try await large.patch(id, [remove("eve")], metadata: (0..<33).map { set("k\($0)", "1") })
                try await large.patch(
                    id, [remove("eve")], metadata: (0..<9).map { set("k\($0)", String(repeating: "v", count: 2000)) })
                #expect(try await calls.tree(id).count == 34)
            }
        }

        @Test("former participants, non-participants and other apps may not patch metadata")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a": "1"])
                try await calls.patch(id, [remove("ben")])
                #expect(
                    try await calls.refusal { try await calls.patch(id, by: "ben", metadata: [set("a", "2")]) }?.code
                        == .accessDenied)
                #expect(
                    try await calls.refusal { try await calls.patch(id, by: "eve", metadata: [set("a", "2")]) }?.code
                        == .notFound)
                let other = calls.with(app: .random())
                #expect(
                    try await calls.refusal { try await other.patch(id, metadata: [set("a", "2")]) }?.code == .notFound)
                #expect(try await calls.tree(id) == ["a": "1"])
            }
        }
    }
}
