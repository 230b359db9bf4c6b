// SPDX-License-Identifier: Apache-2.0

import Contracts
import Model
import Testing

@testable import Metadata

@Suite("A patch is checked before it reaches the database")
struct PatchValidationTests {
    private func check(_ operations: [MetadataOperation], maximum: Int = 100) throws(Failure) -> [MetadataOperation] {
        try PatchValidation(maximumItems: maximum).operations(operations.map { ProtoMetadataOperation($0) })
    }

    @Test("good operations pass as they are")
    func good() throws {
        let operations = [
            set("a.b", "v"), set("t", [("t.x", ""), ("t.y.z", "1")]), delete("a_-9.Z"), set("", [("r", "1")]), delete(""), set("e", []),
            set("long", String(repeating: "ä", count: 1024)),
        ]
        #expect(try check(operations) == operations)
    }

    @Test(
        "a fault names its property",
        arguments: [
            (set("a b", "v"), "metadata.a b"), (set("a..b", "v"), "metadata.a..b"), (delete("a."), "metadata.a."),
            (delete(".a"), "metadata..a"), (set("ä", "v"), "metadata.ä"), (set("a", [("a.b/c", "v")]), "metadata.a.b/c"),
            (set("a", String(repeating: "ä", count: 1025)), "metadata.a"), (set("a", [("a.b", "x\0y")]), "metadata.a.b"),
            (set("a", [("b", "v")]), "metadata.a"), (set("a", [("ab", "v")]), "metadata.a"), (set("", [("", "v")]), "metadata."),
            (set("a", [("a.b", "1"), ("a.b", "2")]), "metadata.a.b"), (set("a", [("a.b", "1"), ("a.b.c", "2")]), "metadata.a.b"),
            (delete(Array(repeating: "k", count: 33).joined(separator: ".")), "metadata." + Array(repeating: "k", count: 33).joined(separator: ".")),
            (delete(String(repeating: "k", count: 1025)), "metadata"),
        ])
    func bad(_ operation: MetadataOperation, _ property: String) {
        let failure = #expect(throws: Failure.self) { try check([set("fine", "v"), operation]) }
        #expect(failure?.code == .invalidProperty)
        #expect(failure?.detail == .property(property))
    }

    @Test("the size of a patch is bounded")
    func bounded() throws {
        #expect(throws: Failure.self) { try check([set("a", [("a.b", "1"), ("a.c", "1")]), delete("x")], maximum: 3) }
        #expect(try check([set("a", [("a.b", "1"), ("a.c", "1")]), delete("x")], maximum: 4).count == 2)
    }

    @Test("large patches are told from small ones")
    func large() {
        func isLarge(_ operations: [MetadataOperation]) -> Bool {
            MetadataPatch(app: .random(), conversation: .random(), actor: UserID(trusted: "a"), operations: operations, origin: nil).isLarge
        }
        #expect(!isLarge([set("a", "1")]))
        #expect(isLarge([set("", [("a", "1")])]))
        #expect(isLarge((0..<40).map { set("k\($0)", "1") }))
    }
}

@Suite("Operations and effects as JSON")
struct OperationsJSONTests {
    @Test("operations are written as the database reads them")
    func operations() {
        let text = OperationsJSON.encode([set("a", [("a.b", "1"), ("a.c", "\"\\\n\u{1f}ä")]), delete("x.y"), set("e", [])])
        #expect(
            text == #"[{"path":"a","set":[["a.b","1"],["a.c","\"\\\u000a\u001fä"]]},{"path":"x.y","delete":true},{"path":"e","set":[]}]"#)
        #expect(OperationsJSON.encode([]) == "[]")
    }

    @Test("effects are read as the database writes them")
    func effects() throws {
        let effects = try OperationsJSON.decodeEffects(#"[["a.b", null], ["c", ""], ["d", "\"ä\u0001"]]"#)
        #expect(effects.map(\.path.dotted) == ["a.b", "c", "d"])
        #expect(effects.map(\.value) == [nil, "", "\"ä\u{1}"])
        #expect(throws: (any Error).self) { try OperationsJSON.decodeEffects(#"[["a"]]"#) }
        #expect(throws: (any Error).self) { try OperationsJSON.decodeEffects(#"[[null, "v"]]"#) }
    }
}
