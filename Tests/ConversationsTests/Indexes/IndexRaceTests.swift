// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import TestTiers
import Testing

@testable import Conversations

extension StoreTests {
    /// Building an index while writers are active. In any order of events, no entry may be missing in the end.
    @Suite struct IndexRaceTests {
        private func run(_ body: (CallsFixture) async throws -> Void) async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                // Finish pending indexes of other tests.
                try await eventually { try await calls.buildIndexes() == nil }
                try await body(calls)
            }
        }

        /// Holds a writer that has not seen the index until the builder waits for it.
        private func behind(_ calls: CallsFixture, _ statement: String) async throws {
            try await calls.holding(
                statement, until: 0,
                meanwhile: {
                    try await calls.addIndex("status")
                    for _ in 0..<5 { #expect(try await calls.buildIndexes() == 0) }
                    #expect(try await calls.indexes().map(\.readyAt) == [nil])
                }, {})
            try await eventually {
                try await calls.buildIndexes()
                return try await calls.indexes()[0].readyAt != nil
            }
            #expect(try await calls.wrongEntries(of: "status") == 0)
        }

        @Test("an index contains a patch that began before the index was created")
        func patchBehind() async throws {
            try await run { calls in
                let id = try await calls.conversation(metadata: ["status": "old"])
                try await behind(
                    calls, calls.sqlPatch(id, by: "ana", metadata: #"[{"path":"status","set":[["status","new"]]}]"#))
                #expect(try await calls.find("status", .equals("new")).ids == [id])
            }
        }

        @Test("an index contains a creation that began before the index was created")
        func creationBehind() async throws {
            try await run { calls in
                let id = ConversationID.random()
                try await behind(calls, calls.sqlCreate(["ben"], by: "ana", id: id, metadata: ["status": "new"]))
                #expect(try await calls.find("status", .equals("new"), of: "ben").ids == [id])
            }
        }

        @Test(
            "index building waits for a concurrent change to a conversation and includes it",
            arguments: ["patch", "removal", "deletion"])
        func lockedConversation(_ kind: String) async throws {
            try await run { calls in
                let id = try await calls.conversation(metadata: ["status": "old"])
                try await calls.addIndex("status")
                // The builder passes its fence before the change begins, and reads the conversation after that.
                #expect(try await calls.buildIndexes() == 0)
                let statement =
                    switch kind {
                    case "patch":
                        calls.sqlPatch(id, by: "ana", metadata: #"[{"path":"status","set":[["status","new"]]}]"#)
                    case "removal":
                        calls.sqlPatch(
                            id, by: "ana", participants: #"[{"kind":"remove","users":["ben"]}]"#,
                            metadata: #"[{"path":"status","delete":true}]"#)
                    default: calls.sqlDelete(id, by: "ana")
                    }
                _ = try await calls.holding(statement, until: 0) { try await calls.buildIndexes() }
                try await eventually {
                    try await calls.buildIndexes()
                    return try await calls.indexes()[0].readyAt != nil
                }
                #expect(try await calls.wrongEntries(of: "status") == 0)
                #expect(try await calls.find("status", .equals("new")).ids == (kind == "patch" ? [id] : []))
                #expect(
                    try await calls.find("status", .equals("old"), of: "ben").ids == (kind == "removal" ? [id] : []))
            }
        }

        @Test("indexes are built and removed during concurrent writes")
        func busy() async throws {
            try await run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<30 { ids.append(try await calls.conversation(metadata: ["status": "s"])) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<4 {
                        group.addTask { [ids] in
                            for step in 0..<60 {
                                let id = ids[(step * 7 + writer) % ids.count]
                                let own = writer % 2 == 0 ? calls : calls.withoutPublishing
                                switch (step + writer) % 4 {
                                case 0:
                                    try await own.patch(
                                        id, [step % 8 < 4 ? add("cleo") : remove("cleo")],
                                        metadata: [set("status", "v\(step)")])
                                case 1: _ = try await own.conversation(["ben\(writer)"], metadata: ["status": "new"])
                                case 2: try await own.patch(id, [step % 8 < 4 ? add("dora") : remove("dora")])
                                default:
                                    try await own.patch(
                                        id, [], metadata: [step % 8 < 4 ? delete("status") : set("status", "w\(step)")])
                                }
                            }
                        }
                    }
                    group.addTask {
                        for _ in 0..<3 {
                            try await calls.index("status")
                            try await calls.removeIndex("status")
                        }
                        try await calls.addIndex("status")
                    }
                    try await group.waitForAll()
                }
                try await eventually {
                    try await calls.buildIndexes()
                    return try await calls.indexes()[0].readyAt != nil
                }
                #expect(try await calls.wrongEntries(of: "status") == 0)
            }
        }
    }
}
