// SPDX-License-Identifier: Apache-2.0

import Postgres
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Metadata

@Suite("Concurrent patches")
struct RaceTests {
    @Test("concurrent patches of a and a.b leave exactly one of them, and the ordered changes lead to it")
    func prefix() async throws {
        try await MetadataFixture.run { fixture in
            for round in 0..<40 {
                let id = try await fixture.conversation(round % 2 == 0 ? [] : [("a", "0")])
                async let first = fixture.patch(id, [set("a", "1")])
                async let second = fixture.patch(id, [set("a.b", "2")])
                let changes = try await [first, second].compactMap { $0 }.sorted { $0.position < $1.position }
                #expect(changes.map(\.position) == [Position(2), Position(3)])
                let stored = try await fixture.tree(id)
                #expect(stored.leaves.count == 1)
                var told = MetadataTree(
                    leaves: round % 2 == 0 ? [] : [MetadataLeaf(path: MetadataPath(trusted: "a"), value: "0")])
                for change in changes { told.applyEffects(change.effects) }
                #expect(told == MetadataTree(leaves: stored.leaves))
            }
        }
    }

    @Test("concurrent patches of two keys both persist")
    func twoKeys() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            try await withThrowingTaskGroup(of: Change?.self) { group in
                for key in 0..<100 { group.addTask { try await fixture.patch(id, [set("k.\(key)", "\(key)")]) } }
                var positions: [Int64] = []
                for try await change in group { positions.append(change?.position.rawValue ?? 0) }
                #expect(positions.sorted() == Array(2...101))
            }
            #expect(try await fixture.tree(id).leaves.count == 100)
        }
    }

    @Test("the ordered changes of concurrent random patches lead to the stored tree", arguments: [5, 6, 7] as [UInt64])
    func convergence(seed: UInt64) async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            let changes = try await withThrowingTaskGroup(of: [Change].self) { group in
                for worker in 0..<6 {
                    group.addTask {
                        var generator = PatchGenerator(random: SeededGenerator(seed: seed * 100 + UInt64(worker)))
                        var changes: [Change] = []
                        for _ in 0..<40 {
                            if let change = try await fixture.patch(id, generator.patch()) { changes.append(change) }
                        }
                        return changes
                    }
                }
                var all: [Change] = []
                for try await some in group { all += some }
                return all.sorted { $0.position < $1.position }
            }
            #expect(changes.map(\.position.rawValue) == Array(2..<Int64(changes.count + 2)))
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.createdAt <= $1.createdAt })
            var told = MetadataTree()
            for change in changes { told.applyEffects(change.effects) }
            #expect(told == MetadataTree(leaves: try await fixture.tree(id).leaves), "seed \(seed)")
        }
    }

    @Test("a patch that waits for the removal of its actor is refused")
    func removal() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation(participants: ["ana", "ben"])
            // A transaction that takes the lock, removes the user, and commits once another transaction waits for the
            // lock.
            let removal = """
                DO $$
                BEGIN
                    PERFORM FROM conversations.conversation WHERE id = '\(id)' FOR UPDATE;
                    UPDATE conversations.participant SET left_position = 2 WHERE conversation_id = '\(id)' AND user_id = 'ben';
                    PERFORM pg_notify('locked', '');
                    FOR i IN 1..1000 LOOP
                        EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)));
                        PERFORM pg_sleep(0.01);
                    END LOOP;
                END
                $$
                """
            async let removed = fixture.sql(removal)
            while try await fixture.number(
                """
                SELECT count(*) FROM pg_locks WHERE granted AND mode = 'RowExclusiveLock'
                AND relation = 'conversations.participant'::regclass AND pid <> pg_backend_pid()
                """) == 0
            {
                await Task.yield()
            }
            let failure = await #expect(throws: Failure.self) {
                try await fixture.patch(id, [set("a", "1")], by: "ben")
            }
            _ = try await removed
            #expect(failure?.code == .accessDenied)
            #expect(try await fixture.tree(id).leaves.isEmpty)
        }
    }
}
