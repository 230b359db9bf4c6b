// SPDX-License-Identifier: Apache-2.0
import Model
import Testing

@testable import Conversations

extension StoreTests {
    /// Metadata in a patch of a conversation. How trees are changed in all detail is tested with the metadata service, which shares the functions.
    @Suite struct MetadataPatchTests {
        @Test("a set key joins the others, a set tree takes the place of what was there, a deleted one is gone; told is what changed")
        func operations() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a.x": "1", "a.y": "2", "b": "3"])
                let steps: [([MetadataOperation], told: [String], tree: [String: String])] = [
                    ([set("a.z", "4")], ["a.z=4"], ["a.x": "1", "a.y": "2", "a.z": "4", "b": "3"]),
                    ([set("a", ["a.x": "1", "a.w": "5"])], ["-a.y", "-a.z", "a.w=5"], ["a.x": "1", "a.w": "5", "b": "3"]),
                    ([delete("a.w"), set("b", "6"), set("c.d.e", "7")], ["-a.w", "b=6", "c.d.e=7"], ["a.x": "1", "b": "6", "c.d.e": "7"]),
                    ([delete("c.d.e")], ["-c"], ["a.x": "1", "b": "6"]),
                    ([set("b", [:])], ["-b"], ["a.x": "1"]),
                    ([set("", ["new": "8"])], ["-a", "new=8"], ["new": "8"]),
                    ([delete("")], ["-new"], [:]),
                ]
                for (index, step) in steps.enumerated() {
                    let changes = try await calls.patch(id, by: "ben", metadata: step.0)
                    #expect(changes.map(\.effects.told) == [step.told])
                    #expect(changes.map(\.position) == [Position(Int64(index + 2))])
                    #expect(try await calls.tree(id) == step.tree)
                    #expect(try calls.heard(id).last == changes.last)
                }
                let log = try await calls.readChanges(id).changes.dropFirst()
                #expect(log.map(\.effects.told) == steps.map(\.told))
            }
        }

        @Test("what changes nothing is no change")
        func withoutEffect() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a.x": "1"])
                for operations in [[set("a.x", "1")], [delete("b")], [set("a", ["a.x": "1"])], [set("b", "1"), delete("b")], [delete("a.x.y")]] {
                    #expect(try await calls.patch(id, metadata: operations).isEmpty)
                }
                #expect(try await calls.get(id).conversation.position == Position(1))
                #expect(try await calls.tree(id) == ["a.x": "1"])
            }
        }

        @Test("a tree cannot grow beyond the limit of keys, by creation or by a patch; one at the limit can still change")
        func tooManyKeys() async throws {
            try await CallsFixture.run { calls in
                func keys(_ count: Int) -> [String: String] { Dictionary(uniqueKeysWithValues: (0..<count).map { ("k.k\($0)", "1") }) }
                let limit = CallsFixture.metadataKeysLimit
                let refused = try await calls.refusal { try await calls.create(["ben"], id: .random(), metadata: keys(limit + 1)) }
                #expect(refused?.detail == .property("metadata"))
                let id = try await calls.conversation(["ben"], metadata: keys(limit))
                let patch = try await calls.refusal { try await calls.patch(id, [add("cleo")], metadata: [set("one.more", "1")]) }
                #expect(patch?.detail == .property("metadata"))
                #expect(try await calls.get(id).conversation.participants.count == 2)
                try await calls.patch(id, metadata: [set("k.k0", "2"), delete("k.k1"), set("other", "1")])
                #expect(try await calls.tree(id).count == limit)
            }
        }

        @Test("values of 2048 bytes and paths of 1024 are kept; longer ones are refused with all that came with them")
        func limits() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let value = String(repeating: "é", count: 1024)
                let path = String(repeating: "k", count: 1024)
                try await calls.patch(id, metadata: [set("a", value), set(path, "1")])
                #expect(try await calls.tree(id) == ["a": value, path: "1"])
                for operation in [set("a", value + "x"), set(path + "k", "1"), set("z", ["z.a": value + "x"])] {
                    #expect(try await calls.refusal { try await calls.patch(id, metadata: [set("b", "1"), operation]) } != nil)
                }
                #expect(try await calls.refusal { try await calls.create(["ben"], id: .random(), metadata: ["a": value + "x"]) } != nil)
                #expect(try await calls.tree(id) == ["a": value, path: "1"])
                #expect(try await calls.readChanges(id).head == Position(2))
                #expect(try await calls.list().total == 1)
            }
        }

        @Test("former participants, strangers and other apps may not")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["a": "1"])
                try await calls.patch(id, [remove("ben")])
                #expect(try await calls.refusal { try await calls.patch(id, by: "ben", metadata: [set("a", "2")]) }?.code == .accessDenied)
                #expect(try await calls.refusal { try await calls.patch(id, by: "eve", metadata: [set("a", "2")]) }?.code == .notFound)
                let other = calls.with(app: .random())
                #expect(try await calls.refusal { try await other.patch(id, metadata: [set("a", "2")]) }?.code == .notFound)
                #expect(try await calls.tree(id) == ["a": "1"])
            }
        }
    }
}
