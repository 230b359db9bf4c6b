// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import StrataModel
import Testing

struct MetadataTests {
    private func leaf(_ path: String, _ value: String) -> MetadataLeaf {
        MetadataLeaf(path: MetadataPath(trusted: path), value: value)
    }
    private func set(_ path: String, _ value: String) -> MetadataEffect {
        MetadataEffect(path: MetadataPath(trusted: path), value: value)
    }
    private func delete(_ path: String) -> MetadataEffect {
        MetadataEffect(path: MetadataPath(trusted: path), value: nil)
    }

    @Test(
        "paths of letters, digits, - and _ are valid",
        arguments: ["a", "a.b", "A-1_z.0", String(repeating: "x", count: 1024)])
    func goodPaths(text: String) throws {
        #expect(try MetadataPath(validating: text).dotted == text)
    }

    @Test(
        "other paths are refused, and the error names them",
        arguments: [
            ("", "metadata."), (".", "metadata.."), ("a.", "metadata.a."), (".a", "metadata..a"),
            ("a..b", "metadata.a..b"), ("a b", "metadata.a b"),
            ("é", "metadata.é"), ("a.b/c", "metadata.a.b/c"), (String(repeating: "x", count: 1025), "metadata"),
        ])
    func badPaths(text: String, property: String) throws {
        let failure = #expect(throws: Failure.self) { try MetadataPath(validating: text) }
        #expect(failure?.code == .invalidProperty)
        #expect(failure?.detail == .property(property))
    }

    @Test("32 levels are allowed, 33 are not")
    func depth() throws {
        let deepest = Array(repeating: "a", count: 32).joined(separator: ".")
        #expect(try MetadataPath(validating: deepest).keys.count == 32)
        #expect(throws: Failure.self) { try MetadataPath(validating: deepest + ".a") }
    }

    @Test("paths are joined and split")
    func pathPieces() {
        #expect(MetadataPath.root.keys.isEmpty)
        #expect(MetadataPath.root.appending("a").appending("b").dotted == "a.b")
        #expect(MetadataPath(trusted: "a.b").keys == ["a", "b"])
        #expect(MetadataPath(trusted: "a-b") < MetadataPath(trusted: "a.b"))
    }

    @Test("a tree is made from leaves and returns them in order")
    func leaves() {
        let leaves = [leaf("trip.hotel.name", "x"), leaf("trip.city", "Porto"), leaf("title", "t"), leaf("Title", "u")]
        let tree = MetadataTree(leaves: leaves)
        #expect(tree.leaves.map(\.path.dotted) == ["Title", "title", "trip.city", "trip.hotel.name"])
        #expect(MetadataTree(leaves: tree.leaves) == tree)
        #expect(tree[MetadataPath(trusted: "trip.city")] == .text("Porto"))
        #expect(tree[MetadataPath(trusted: "trip.city.x")] == nil)
        #expect(tree[MetadataPath(trusted: "none")] == nil)
        #expect(tree[.root] == .tree(tree))
        #expect(MetadataTree().isEmpty)
    }

    @Test("the longer of two conflicting paths wins in either order")
    func prefixLeaves() {
        let expected = MetadataTree(leaves: [leaf("a.b", "2")])
        #expect(MetadataTree(leaves: [leaf("a", "1"), leaf("a.b", "2")]) == expected)
        #expect(MetadataTree(leaves: [leaf("a.b", "2"), leaf("a", "1")]) == expected)
    }

    @Test("effects are applied to a tree as clients apply them")
    func effects() {
        var tree = MetadataTree(leaves: [leaf("a.b", "1"), leaf("a.c", "2"), leaf("d", "3")])
        tree.applyEffects([delete("a.b")])
        #expect(tree.leaves == [leaf("a.c", "2"), leaf("d", "3")])
        tree.applyEffects([delete("a")])
        #expect(tree.leaves == [leaf("d", "3")])
        tree.applyEffects([set("d.e.f", "4")])
        #expect(tree.leaves == [leaf("d.e.f", "4")])
        tree.applyEffects([delete("x.y"), delete("d.e.f.g")])
        #expect(tree.leaves == [leaf("d.e.f", "4")])
        tree.applyEffects([delete("d.e.f")])
        #expect(tree.isEmpty)
        tree.applyEffects([set("q", "1"), delete(""), set("r", "2")])
        #expect(tree.leaves == [leaf("r", "2")])
    }

    @Test("random sequences of effects end as the same changes to a flat dictionary")
    func effectsAgainstModel() {
        var generator = SeededGenerator(seed: 7)
        let keys = ["a", "b", "c"]
        for _ in 0..<200 {
            var tree = MetadataTree()
            var flat: [String: String] = [:]
            for _ in 0..<40 {
                let depth = Int.random(in: 1...3, using: &generator)
                let path = (0..<depth).map { _ in keys.randomElement(using: &generator) ?? "a" }.joined(separator: ".")
                let value = Bool.random(using: &generator) ? "\(Int.random(in: 0..<9, using: &generator))" : nil
                flat = flat.filter {
                    $0.key != path && !$0.key.hasPrefix(path + ".") && (value == nil || !path.hasPrefix($0.key + "."))
                }
                flat[path] = value
                tree.applyEffects([MetadataEffect(path: MetadataPath(trusted: path), value: value)])
                #expect(Dictionary(uniqueKeysWithValues: tree.leaves.map { ($0.path.dotted, $0.value) }) == flat)
            }
        }
    }

    @Test("an operation knows its path")
    func operations() {
        #expect(MetadataOperation.delete(MetadataPath(trusted: "a")).path.dotted == "a")
        #expect(MetadataOperation.set(.root, leaves: []).path == .root)
    }
}
