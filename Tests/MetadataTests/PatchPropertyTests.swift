// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Postgres
import SeededRandom
import StrataModel
import TestSupport
import Testing

@testable import Metadata

@Suite("Random patches")
struct PatchPropertyTests {
    @Test(
        "effects transform the old tree into the new tree, and equal those of a reference",
        arguments: [1, 20, 300, 4000] as [UInt64])
    func effects(seed: UInt64) async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            var generator = PatchGenerator(random: SeededGenerator(seed: seed))
            var reference = ReferenceTree()
            var position = Position(1)
            for round in 0..<1000 {
                let operations = generator.patch()
                let before = reference
                reference.apply(operations)
                let expected = before.effects(to: reference)
                let change = try await fixture.patch(id, operations)
                try #require(
                    change?.effects ?? [] == expected, "seed \(seed), round \(round): \(operations) on \(before.values)"
                )
                if !expected.isEmpty { position = position.next }
                try #require(change == nil || change?.position == position)

                var told = before.tree
                told.applyEffects(change?.effects ?? [])
                try #require(told == reference.tree, "seed \(seed), round \(round)")

                guard round % 10 == 9 else { continue }
                let stored = try await fixture.tree(id)
                try #require(stored.position == position)
                try #require(
                    stored.leaves == reference.leaves.sorted { $0.path < $1.path }, "seed \(seed), round \(round)")
                let sizes = try await fixture.sizes(id)
                try #require(sizes.allSatisfy { $0[0..<2] == $0[2..<4] }, "seed \(seed), round \(round): \(sizes)")
            }
        }
    }

    @Test("effects equal those of a reference when the conversations service calls apply")
    func apply() async throws {
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            var generator = PatchGenerator(random: SeededGenerator(seed: 9))
            var reference = ReferenceTree()
            for _ in 0..<200 {
                let operations = generator.patch()
                let before = reference
                reference.apply(operations)
                let json = MetadataJSON.encode(operations).replacing("'", with: "''")
                let applied = "metadata.apply('\(id)', '\(json)', 2, false, NULL, NULL, false)"
                let effects = try await fixture.sql("SELECT (\(applied)).effects")[0].getOptional(0, as: String.self)
                let told = try effects.map { try MetadataJSON.effects($0) } ?? []
                try #require(told == before.effects(to: reference))
            }
            let tree = try await fixture.tree(id)
            #expect(tree.leaves == reference.leaves.sorted { $0.path < $1.path })
            #expect(try await fixture.sizes(id).allSatisfy { $0[0..<2] == $0[2..<4] })
        }
    }
}
