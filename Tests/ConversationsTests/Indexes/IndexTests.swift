// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Foundation
import SeededRandom
import StrataModel
import TestTiers
import Testing

@testable import Conversations

extension StoreTests {
    /// Metadata indexes must match the conversations' metadata, however it was written.
    @Suite struct IndexTests {
        /// Runs `body` with a registered app. Only registered apps can have indexes.
        private func run(_ body: (CallsFixture) async throws -> Void) async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await body(calls)
            }
        }

        /// Makes one random change by a random user. It may be refused.
        private func change(
            _ calls: CallsFixture, _ ids: inout [ConversationID], _ random: inout SeededGenerator
        ) async throws {
            let users = ["ana", "ben", "cleo", "dora"]
            let value =
                ["open", "closed", "opening", "", String(repeating: "é", count: 300)].randomElement(using: &random)
                ?? ""
            let actor = users.randomElement(using: &random) ?? "ana"
            let operations: [[MetadataOperation]] = [
                [set("status", value)], [delete("status")], [set("status.sub", value)],
                [set("", ["status": value, "other": "1"])], [delete("")],
                [set("status", [:])], [set("status", value), set("other", value), delete("other")],
                [set("other", value)],
            ]
            let metadata = operations.randomElement(using: &random) ?? []
            let other = users.randomElement(using: &random) ?? "ben"
            let (kind, isFirst) = (Int.random(in: 0..<20, using: &random), Bool.random(using: &random))
            guard let id = ids.randomElement(using: &random), kind > 1 else {
                ids.append(try await calls.conversation([other], metadata: isFirst ? ["status": value] : nil))
                return
            }
            let participants = [isFirst ? add(other) : remove(other)]
            _ = try await calls.refusal {
                switch kind {
                case 2: try await calls.delete(id, by: actor, .allParticipants)
                case 3: try await calls.delete(id, by: actor, .myDevices, leave: isFirst)
                case 4...7: try await calls.patch(id, by: actor, participants)
                case 8...11: try await calls.patch(id, by: actor, participants, metadata: metadata)
                case 12: try await calls.send(id, by: actor)
                default: try await calls.execute(calls.sqlMetadata(id, by: actor, metadata))
                }
                return kind
            }
        }

        @Test("a new index wakes the builder of its instance, whose next search is an hour away")
        func woken() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                try await calls.register()
                let builder = IndexBuilder(
                    database: calls.database, signal: calls.signals.indexes, interval: .seconds(3600),
                    logger: ServiceFixture.quietLogger)
                let running = Task { try await builder.run() }
                defer { running.cancel() }
                for path in ["first", "second"] {
                    try await calls.addIndex(path)
                    try await eventually {
                        try await calls.indexes().contains { $0.path.dotted == path && $0.readyAt != nil }
                    }
                }
            }
        }

        @Test(
            "after any change an index equals each reader's tree, and so does a rebuilt index",
            arguments: [1, 2, 3] as [UInt64])
        func kept(_ seed: UInt64) async throws {
            try await run { calls in
                var random = SeededGenerator(seed: seed)
                var ids: [ConversationID] = []
                for _ in 0..<20 { try await change(calls, &ids, &random) }
                try await calls.index("status")
                #expect(try await calls.wrongEntries(of: "status") == 0)
                for _ in 0..<150 { try await change(calls, &ids, &random) }
                #expect(try await calls.wrongEntries(of: "status") == 0)
                try await calls.index("status.sub")
                try await calls.index("other")
                for path in ["status", "status.sub", "other"] {
                    #expect(try await calls.wrongEntries(of: path) == 0, "\(path), seed \(seed)")
                }
                #expect(try await calls.find("other", .exists).ids.isEmpty == false)
            }
        }

        @Test("an unfinished index refuses queries; any instance builds it in batches, and a path can be indexed once")
        func building() async throws {
            try await run { calls in
                var ids: [ConversationID] = []
                for number in 0..<10 {
                    ids.append(try await calls.conversation(metadata: ["status": "s\(number % 2)"]))
                }
                #expect(try await calls.addIndex("status").isNew)
                #expect(try await calls.addIndex("status").isNew == false)
                #expect(try await calls.indexes().map(\.readyAt) == [nil])
                let refused = try await calls.refusal { try await calls.find("status", .exists) }
                #expect(refused?.code == .invalidProperty && refused?.detail == .property("metadata.status"))
                #expect(refused?.message.contains("being built") == true)
                // Changes during the build are in the index, before and behind the builder's cursor.
                let batch = try await calls.number("SELECT 1 + count(*) / 8 FROM conversations.conversation")
                var batches = 0
                try await eventually {
                    if try await calls.buildIndexes(batch: batch) ?? 0 > 0 { batches += 1 }
                    if batches == 1 { ids.append(try await calls.conversation(metadata: ["status": "new"])) }
                    try await calls.execute(
                        calls.sqlMetadata(ids[batches % 10], by: "ana", [set("status", "t\(batches)")]))
                    return try await calls.indexes()[0].readyAt != nil
                }
                #expect(batches > 3)
                #expect(try await calls.wrongEntries(of: "status") == 0)
                #expect(try await calls.find("status", .exists).total == Int64(ids.count))
            }
        }

        @Test("a batch ends after a limited number of former participants, even in few conversations")
        func formerParticipants() async throws {
            try await run { calls in
                // Finish pending indexes of other tests.
                try await eventually { try await calls.buildIndexes() == nil }
                for value in ["left", "kept"] {
                    let id = try await calls.conversation(metadata: ["status": value])
                    try await calls.execute(
                        """
                        INSERT INTO conversations.participant (
                            conversation_id, user_id, app_id, first_joined, joined, left_position, left_ordinal, uncounted, hidden_count, left_deleted)
                        SELECT '\(id)', 'f' || n, '\(calls.app)', 1, 1, 1, 0, 0, 0, 0 FROM generate_series(1, 5100) n
                        """)
                    try await calls.execute(
                        """
                        INSERT INTO metadata.kept_tree (conversation_id, user_id, position)
                        SELECT '\(id)', 'f' || n, 1 FROM generate_series(1, 5100) n
                        """)
                }
                try await calls.addIndex("status")
                var seen: Set<Int64> = []
                try await eventually {
                    try await calls.buildIndexes()
                    seen.insert(
                        try await calls.number(
                            "SELECT count(DISTINCT conversation_id) FROM metadata.index_entry WHERE app_id = '\(calls.app)'"
                        ))
                    return try await calls.indexes()[0].readyAt != nil
                }
                #expect(seen.contains(1))
                // Each conversation has three entries: for two participants and for the app.
                #expect(
                    try await calls.number("SELECT count(*) FROM metadata.index_entry WHERE app_id = '\(calls.app)'")
                        == 2 * 5103)
                let values = "SELECT count(DISTINCT value_key) FROM metadata.index_entry"
                #expect(try await calls.number("\(values) WHERE app_id = '\(calls.app)' AND user_id = 'f7'") == 2)
            }
        }

        @Test("an index that cannot be built does not block other indexes")
        func unbuildable() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let other = calls.with(app: .random())
                for calls in [calls, other] {
                    try await calls.register()
                    _ = try await calls.conversation(metadata: ["status": "open"])
                    try await calls.addIndex("status")
                }
                try await refuseEntries(of: calls)
                try await eventually {
                    _ = try? await calls.buildIndexes()
                    return try await other.indexes()[0].readyAt != nil
                }
                #expect(try await calls.indexes().map(\.readyAt) == [nil])
            }
        }

        /// Makes the database fail when the app's indexes are built.
        private func refuseEntries(of calls: CallsFixture) async throws {
            try await calls.execute(
                """
                DO $made$ BEGIN
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION ''this fails'' USING ERRCODE = ''check_violation''; END';
                CREATE TRIGGER refuse BEFORE INSERT ON metadata.index_entry
                FOR EACH ROW WHEN (NEW.app_id = '\(calls.app)') EXECUTE FUNCTION public.refuse();
                END $made$
                """)
        }

        @Test("a step that fails to build an app's index continues with the index of another app")
        func unbuildableStep() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let other = calls.with(app: .random())
                for calls in [calls, other] {
                    try await calls.register()
                    for _ in 0..<10 { _ = try await calls.conversation(metadata: ["status": "open"]) }
                    try await calls.addIndex("status")
                }
                try await refuseEntries(of: calls)
                // The index takes twenty steps, so the failing app is first in some of them. None of them throws.
                try await eventually {
                    try await calls.buildIndexes(batch: 1)
                    return try await other.indexes()[0].readyAt != nil
                }
                #expect(try await calls.indexes().map(\.readyAt) == [nil])
            }
        }

        @Test("an app's index is built while another app continuously builds and removes indexes")
        func fair() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let hostile = calls.with(app: .random())
                for calls in [calls, hostile] {
                    try await calls.register()
                    for _ in 0..<10 { _ = try await calls.conversation(metadata: ["k0": "1"]) }
                }
                for number in 1..<MetadataIndex.maximumPerApp {
                    try await hostile.addIndex("k\(number)")
                    try await hostile.removeIndex("k\(number)")
                }
                for number in 0..<MetadataIndex.maximumPerApp { try await hostile.addIndex("k\(number)") }
                try await calls.addIndex("k0")
                var steps = 0
                while try await calls.indexes()[0].readyAt == nil, steps < 1000 {
                    if try await calls.buildIndexes(batch: 1) ?? 0 > 0 { steps += 1 }
                }
                // Without the other app it takes 21 steps.
                #expect(steps < 100)
            }
        }

        @Test("an app that adds and removes indexes in a loop is refused until removed entries are deleted")
        func loop() async throws {
            try await run { calls in
                for number in 0..<MetadataIndex.maximumPerApp {
                    try await calls.addIndex("k\(number)")
                    try await calls.removeIndex("k\(number)")
                }
                let refused = try await calls.refusal { try await calls.addIndex("one-more") }
                #expect(refused?.code == .invalidProperty && refused?.detail == .property("property"))
                #expect(refused?.message.contains("being removed") == true)
                #expect(
                    try await calls.number("SELECT count(*) FROM metadata.index_path WHERE app_id = '\(calls.app)'")
                        == Int64(MetadataIndex.maximumPerApp))
                try await eventually {
                    try await calls.buildIndexes()
                    return try await calls.refusal { try await calls.addIndex("one-more") } == nil
                }
            }
        }

        @Test("an app can index sixteen paths; a removed index is refused at once and can be added again")
        func most() async throws {
            try await run { calls in
                for number in 0..<MetadataIndex.maximumPerApp { try await calls.addIndex("k\(number)") }
                let refused = try await calls.refusal { try await calls.addIndex("one-more") }
                #expect(refused?.detail == .property("property"))
                _ = try await calls.conversation(metadata: ["k1": "1"])
                try await calls.removeIndex("k1")
                let unknown = try await calls.refusal { try await calls.find("k1", .exists) }
                #expect(unknown?.message.contains("not indexed") == true)
                #expect(try await calls.refusal { try await calls.removeIndex("k1") }?.code == .notFound)
                try await calls.index("k1")
                #expect(try await calls.wrongEntries(of: "k1") == 0)
                // Wait until the first index is completely removed.
                try await eventually {
                    try await calls.buildIndexes()
                    return try await calls.number(
                        "SELECT count(*) FROM metadata.index_path WHERE app_id = '\(calls.app)' AND removed_at IS NOT NULL"
                    )
                        == 0
                }
                let entries = try await calls.number(
                    "SELECT count(*) FROM metadata.index_entry WHERE app_id = '\(calls.app)'")
                #expect(entries == 3)
            }
        }

        @Test("an unregistered app, or one that is being deleted, cannot add an index")
        func noApp() async throws {
            try await CallsFixture.run { calls in
                #expect(try await calls.refusal { try await calls.addIndex("status") }?.code == .invalidAppID)
                try await calls.register(suspended: true)
                try await calls.execute("UPDATE conversations.app SET deleting_since = now() WHERE id = '\(calls.app)'")
                #expect(try await calls.refusal { try await calls.addIndex("status") }?.code == .invalidAppID)
            }
        }
    }
}
