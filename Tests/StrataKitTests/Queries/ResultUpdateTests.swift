// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import TestTiers
import Testing

@testable import StrataKit

private func identity(_ name: String, _ displayName: String? = nil, email: String? = nil) -> Identity {
    var identity = Identity(userID: Example.user(name))
    (identity.displayName, identity.emailAddress) = (displayName, email)
    return identity
}

private func list(_ names: String) -> [Identity] { names.map { identity(String($0)) } }

@Suite("updates of a query's result")
struct ResultUpdateTests {
    @Test(
        "a list change has the fewest inserts, deletes and moves", .proves("QC-2"),
        arguments: [
            ("abc", "abc", []), ("", "ab", ["insert a 0", "insert b 1"]), ("abc", "b", ["delete c 2", "delete a 0"]),
            ("abc", "cab", ["move c 2 0"]), ("abc", "bca", ["move a 0 2"]),
            ("abcd", "xbca", ["delete d 3", "insert x 0", "move a 0 3"]),
            ("abc", "axbyc", ["insert x 1", "insert y 3"]), ("abcde", "badce", ["move b 1 0", "move d 3 2"]),
        ] as [(String, String, [String])])
    func examples(old: String, new: String, expected: [String]) {
        #expect(ResultUpdate(from: list(old), to: list(new)).lines == expected)
    }

    @Test("an object that has changed and moved has an update and a move, both with its new state", .proves("QC-2"))
    func updateAndMove() {
        let update = ResultUpdate(from: list("abc"), to: [identity("c", "Cid")] + list("ab"))
        #expect(update.lines == ["update c 2", "move c 2 0"])
        #expect(update.changes.allSatisfy { $0.object.displayName == "Cid" })
        #expect(update.changes.map(\.oldIndex) == [2, 2])
        #expect(update.changes.map(\.newIndex) == [nil, 0])
    }

    @Test("only updatable properties make updates, although the list has the new state", .proves("QC-5"))
    func updatable() {
        let (old, new) = ([identity("a", "Ana", email: "x")], [identity("a", "Ana", email: "y")])
        #expect(ResultUpdate(from: old, to: new).lines == ["update a 0"])
        #expect(ResultUpdate(from: old, to: new, updatable: [\.emailAddress]).lines == ["update a 0"])
        #expect(ResultUpdate(from: old, to: new, updatable: [\.displayName, \.metadata]).changes.isEmpty)
        #expect(ResultUpdate(from: old, to: new, updatable: []).changes.isEmpty)
        #expect(ResultUpdate(from: old, to: new, updatable: []).snapshotAfter == new)
        #expect(ResultUpdate(from: list("ab"), to: list("ca"), updatable: []).lines == ["delete b 1", "insert c 0"])
    }

    @Test("gaining or losing a value changes a property", .proves("QC-5"))
    func optionals() {
        let (without, with) = ([identity("a")], [identity("a", "Ana")])
        #expect(ResultUpdate(from: without, to: with, updatable: [\.displayName]).lines == ["update a 0"])
        #expect(ResultUpdate(from: with, to: without, updatable: [\.displayName]).lines == ["update a 0"])
        #expect(ResultUpdate(from: without, to: without, updatable: [\.displayName]).changes.isEmpty)
    }

    @Test(
        "inserts have a new index, deletes and updates an old one, moves both, followed by the result", .proves("QC-2"))
    func indexes() {
        let new = [identity("c"), identity("x"), identity("a", "Ana")]
        let update = ResultUpdate(from: list("abc"), to: new)
        #expect(update.lines == ["update a 0", "delete b 1", "move c 2 0", "insert x 1"])
        #expect(update.changes.map(\.oldIndex) == [0, 1, 2, nil])
        #expect(update.changes.map(\.newIndex) == [nil, nil, 0, 1])
        #expect(update.snapshotAfter == new)
    }

    @Test("a duplicate id in a list does no harm")
    func duplicates() {
        for (old, new) in [("aa", "a"), ("a", "aa"), ("aba", "baa"), ("aab", "")] {
            #expect(applied(ResultUpdate(from: list(old), to: list(new)), to: list(old)) == list(new))
        }
    }

    @Test(
        "the changes of an update lead from any list to any other, and are minimal", .proves("QC-2", "QC-3"),
        arguments: 1...400 as ClosedRange<UInt64>)
    func random(seed: UInt64) {
        var numbers = SeededGenerator(seed: seed)
        let (old, new) = (randomList(&numbers), randomList(&numbers))
        let update = ResultUpdate(from: old, to: new)
        #expect(applied(update, to: old) == new, "seed \(seed)")

        let (oldIDs, newIDs) = (old.map(\.id), new.map(\.id))
        let survivors = newIDs.filter(oldIDs.contains)
        #expect(kinds(update, "insert") == newIDs.count - survivors.count, "seed \(seed)")
        #expect(kinds(update, "delete") == oldIDs.count - survivors.count, "seed \(seed)")
        #expect(kinds(update, "move") == survivors.count - longestCommonRun(oldIDs, newIDs), "seed \(seed)")
        let changed = Set(old).subtracting(new).map(\.id).filter(newIDs.contains)
        #expect(Set(updated(update)) == Set(changed) && updated(update).count == changed.count, "seed \(seed)")
    }

    private func randomList(_ numbers: inout SeededGenerator) -> [Identity] {
        let names = "abcdefghijklmnop".shuffled(using: &numbers).prefix(Int.random(in: 0...12, using: &numbers))
        return names.map { identity(String($0), Int.random(in: 0...2, using: &numbers) == 0 ? "x" : "y") }
    }

    /// Applies an update step by step, as the documentation of ``ResultUpdate`` describes.
    private func applied(_ update: ResultUpdate<Identity>, to old: [Identity]) -> [Identity] {
        var list = old
        for case .update(let object, let index) in update.changes { list[index] = object }
        let gone = update.changes.filter { if case .update = $0 { false } else { true } }.compactMap(\.oldIndex)
        for index in gone.sorted(by: >) { list.remove(at: index) }
        for change in update.changes { if let index = change.newIndex { list.insert(change.object, at: index) } }
        return list
    }

    private func kinds(_ update: ResultUpdate<Identity>, _ kind: String) -> Int {
        update.lines.filter { $0.hasPrefix(kind) }.count
    }

    private func updated(_ update: ResultUpdate<Identity>) -> [String] {
        update.changes.compactMap { if case .update(let object, _) = $0 { object.id } else { nil } }
    }

    /// Returns the length of the longest common subsequence of two lists of ids, by dynamic programming.
    private func longestCommonRun(_ a: [String], _ b: [String]) -> Int {
        var row = [Int](repeating: 0, count: b.count + 1)
        for id in a {
            var next = row
            for index in b.indices {
                next[index + 1] = id == b[index] ? row[index] + 1 : max(next[index], row[index + 1])
            }
            row = next
        }
        return row.last ?? 0
    }
}
