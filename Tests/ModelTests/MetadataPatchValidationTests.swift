// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@Suite("Validation of patches before they reach the database")
struct MetadataPatchValidationTests {
    private func check(_ operations: [MetadataOperation], maximum: Int = 100) throws(Failure) {
        try MetadataPatchValidation(maximumItems: maximum).checkOperations(operations)
    }

    @Test("valid operations pass unchanged")
    func good() throws {
        let operations = [
            set("a.b", "v"), set("t", [("t.x", ""), ("t.y.z", "1")]), delete("a_-9.Z"), delete("a.__proto__.b"),
            set("proto.Constructor", "v"),
            set("", [("r", "1")]), delete(""), set("e", []),
            set("long", String(repeating: "ä", count: 1024)),
        ]
        try check(operations)
    }

    @Test(
        "a validation error names its property",
        arguments: [
            (set("a b", "v"), "metadata.a b"), (set("a..b", "v"), "metadata.a..b"), (delete("a."), "metadata.a."),
            (delete(".a"), "metadata..a"), (set("ä", "v"), "metadata.ä"),
            (set("a", [("a.b/c", "v")]), "metadata.a.b/c"),
            (set("a", String(repeating: "ä", count: 1025)), "metadata.a"),
            (set("a", [("a.b", "x\0y")]), "metadata.a.b"),
            (set("a", [("b", "v")]), "metadata.a"), (set("a", [("ab", "v")]), "metadata.a"),
            (set("", [("", "v")]), "metadata."),
            (set("a", [("a.b", "1"), ("a.b", "2")]), "metadata.a.b"),
            (set("a", [("a.b", "1"), ("a.b.c", "2")]), "metadata.a.b"),
            (
                delete(Array(repeating: "k", count: 33).joined(separator: ".")),
                "metadata." + Array(repeating: "k", count: 33).joined(separator: ".")
            ),
            (delete(String(repeating: "k", count: 1025)), "metadata"),
            (set("__proto__.polluted", "v"), "metadata.__proto__.polluted"),
            (set("a.constructor", []), "metadata.a.constructor"),
            (set("a", [("a.b.prototype", "v")]), "metadata.a.b.prototype"),
            (set("", [("a.__proto__.b", "v")]), "metadata.a.__proto__.b"),
        ])
    func bad(_ operation: MetadataOperation, _ property: String) {
        let failure = #expect(throws: Failure.self) { try check([set("fine", "v"), operation]) }
        #expect(failure?.code == .invalidProperty)
        #expect(failure?.detail == .property(property))
    }

    @Test("the size of a patch is limited")
    func bounded() throws {
        #expect(throws: Failure.self) { try check([set("a", [("a.b", "1"), ("a.c", "1")]), delete("x")], maximum: 3) }
        try check([set("a", [("a.b", "1"), ("a.c", "1")]), delete("x")], maximum: 4)
    }

    @Test("validation of an initial tree does not depend on its number of values")
    func tree() throws {
        let validation = MetadataPatchValidation(maximumItems: 2)
        try validation.checkTree(["a", "b", "c.d"].map { MetadataLeaf(path: MetadataPath(trusted: $0), value: "1") })
        let failure = #expect(throws: Failure.self) {
            try validation.checkTree(["a", "a.b"].map { MetadataLeaf(path: MetadataPath(trusted: $0), value: "1") })
        }
        #expect(failure?.detail == .property("metadata.a"))
    }

    @Test("large patches are distinguished from small ones by items and bytes")
    func large() {
        let value = String(repeating: "v", count: 2000)
        #expect(![set("a", "1")].isLarge)
        #expect([set("", [("a", "1")])].isLarge)
        #expect(!(0..<32).map { set("k\($0)", "1") }.isLarge)
        #expect((0..<33).map { set("k\($0)", "1") }.isLarge)
        #expect(!(0..<8).map { set("k\($0)", value) }.isLarge)
        #expect((0..<9).map { set("k\($0)", value) }.isLarge)
        #expect([set("a", (0..<9).map { ("a.k\($0)", value) })].isLarge)
    }

    @Test("an initial tree is large by values and bytes, each counted once")
    func largeTree() {
        func tree(_ count: Int, _ value: String = "1") -> [MetadataLeaf] {
            (0..<count).map { MetadataLeaf(path: MetadataPath(trusted: "k\($0)"), value: value) }
        }
        #expect(![MetadataLeaf]().isLarge && !tree(64).isLarge && tree(65).isLarge)
        let path = String(repeating: "p", count: 1000)
        let long = (10...19).map { MetadataLeaf(path: MetadataPath(trusted: "\(path)\($0)"), value: "1") }
        #expect(!long.isLarge && !tree(8, String(repeating: "v", count: 2000)).isLarge)
        #expect(tree(9, String(repeating: "v", count: 2000)).isLarge)
    }
}

private func set(_ path: String, _ value: String) -> MetadataOperation { set(path, [(path, value)]) }

private func set(_ path: String, _ leaves: [(String, String)]) -> MetadataOperation {
    .set(
        MetadataPath(trusted: path), leaves: leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.0), value: $0.1) }
    )
}

private func delete(_ path: String) -> MetadataOperation { .delete(MetadataPath(trusted: path)) }
