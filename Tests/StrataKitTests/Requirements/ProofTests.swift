// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@Suite("extracting proofs from tests")
struct ProofTests {
    private func proofs(_ source: String) throws -> [Proof] { try Proof.all(in: source, file: "T.swift") }

    private func proof(_ name: String, _ ids: String..., isSuite: Bool = false) -> Proof {
        Proof(name: name, isSuite: isSuite, file: "T.swift", ids: ids)
    }

    @Test("tests and suites are found with their display names, in order")
    func found() throws {
        let source = #"""
            @Suite("all of it", .serialized, .proves("ONE-1"))
            struct ThingTests {
                @Test("it \"goes\"", .timeLimit(.minutes(1)), .proves("ONE-2", "ONE-3"), arguments: [f(1), 2])
                func goes() {}
                @Test("it stops") func stops() {}
            }
            """#
        #expect(
            try proofs(source) == [proof("all of it", "ONE-1", isSuite: true), proof("it \"goes\"", "ONE-2", "ONE-3")])
    }

    @Test("a test without display name has its function's name")
    func functionName() throws {
        let source =
            "@Test(.proves(\"ONE-1\")) @available(*, noasync) func goes() {}\n@Test(.proves(\"ONE-2\")) func `it is`() {}"
        #expect(try proofs(source) == [proof("goes", "ONE-1"), proof("it is", "ONE-2")])
    }

    @Test(
        "comments and strings prove nothing",
        arguments: [
            "// @Test(\"a\", .proves(\"ONE-1\"))", "/* /* \" */ .proves(\"ONE-1\") */",
            "let a = \"@Test(.proves(\\\"ONE-1\\\"))\"",
            "let a = #\"\" .proves(\"ONE-1\")\"#", "let a = \"\"\"\n.proves(\"ONE-1\")\n\"\"\"",
            "let a = \"\\(b(\")\")) .proves(\"",
        ])
    func quoted(_ source: String) throws {
        #expect(try proofs(source + "\n@Test(\"b\", .proves(\"ONE-2\")) func b() {}") == [proof("b", "ONE-2")])
    }

    @Test("unparsable code is refused, with its file")
    func refused() {
        expect(.outsideAttribute("T.swift"), "let trait: Proves = .proves(\"ONE-1\")")
        expect(.notLiterals("T.swift"), "@Test(\"a\", .proves(id)) func a() {}")
        expect(.notLiterals("T.swift"), "@Test(\"a\", .proves(\"ONE-\\(1)\")) func a() {}")
        expect(.notLiterals("T.swift"), "@Test(\"a\", .proves()) func a() {}")
        expect(.malformed("T.swift", id: "ONE1"), "@Test(\"a\", .proves(\"ONE1\")) func a() {}")
        expect(.disabled("T.swift", name: "a"), "@Test(\"a\", .disabled(), .proves(\"ONE-1\")) func a() {}")
        expect(.unreadable("T.swift", line: 2), "\nlet a = \"\n")
    }

    private func expect(_ problem: Proof.Problem, _ source: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(throws: problem, sourceLocation: sourceLocation) { try proofs(source) }
    }

    @Test(
        "an id is capital letters, a hyphen and a number",
        arguments: ["META-6", "X-10", "META6", "meta-6", "META-06", "META-", "-6", "META-0", "META-6-1"])
    func form(_ id: String) {
        #expect(Proves.isWellFormed(id) == ["META-6", "X-10"].contains(id))
    }

    @Test("the trait refuses an id of another form when the test begins")
    func trait() async throws {
        let test = try #require(Test.current)
        try await Proves(ids: ["META-6"]).prepare(for: test)
        await #expect(throws: MalformedRequirementID.self) {
            try await Proves(ids: ["META-6", "META6"]).prepare(for: test)
        }
    }
}
