// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("the table of requirements")
struct RequirementDocumentTests {
    private let group = RequirementGroup(
        title: "Things", prefixes: ["ONE"],
        requirements: [
            Requirement(id: "ONE-1", "It is `a_b | c`."), Requirement(id: "ONE-2", "It goes."),
            Requirement(id: "ONE-3", "It flies.", exempt: "needs wings"),
        ])

    private func document(_ proofs: Proof...) -> RequirementDocument {
        RequirementDocument(groups: [group], proofs: proofs)
    }

    private func proof(_ name: String, _ file: String, _ ids: String..., isSuite: Bool = false) -> Proof {
        Proof(name: name, isSuite: isSuite, file: file, ids: ids)
    }

    @Test("a row links its tests by file")
    func links() {
        let text = document(proof("it goes on", "Tests/B.swift", "ONE-2"), proof("it *goes*", "Tests/A.swift", "ONE-2"))
            .text
        #expect(
            text.contains("| ONE-2 | It goes. | [it \\*goes\\*](../Tests/A.swift); [it goes on](../Tests/B.swift) |\n"))
    }

    @Test("the order in which files are read changes nothing")
    func order() {
        let (a, b) = (proof("a", "Tests/A.swift", "ONE-1", "ONE-2"), proof("b", "Tests/B.swift", "ONE-2", "ONE-1"))
        #expect(document(a, b).text == document(b, a).text)
    }

    @Test("a suite proves its rows with all of its tests")
    func suite() {
        #expect(
            document(proof("going", "Tests/A.swift", "ONE-2", isSuite: true)).text
                .contains("[all of going](../Tests/A.swift)"))
    }

    @Test("code keeps its characters, except those that would end the cell")
    func code() {
        #expect(document().text.contains("| ONE-1 | It is `a_b \\| c`. | not yet |\n"))
    }

    @Test("rows without a test are counted and listed, and exempt ones have a reason")
    func open() {
        let text = document(proof("is", "Tests/A.swift", "ONE-1")).text
        #expect(text.contains("| Things | 3 | 1 | 1 | 1 |\n"))
        #expect(text.contains("| ONE-3 | It flies. | no test: needs wings |\n"))
        #expect(text.hasSuffix("\n## Not shown yet: 1\n\n* Things: ONE-2\n"))
        #expect(!document(proof("all", "Tests/A.swift", "ONE-1", "ONE-2")).text.contains("## Not shown yet"))
    }

    @Test("an unknown id and a test of an exempt row are problems; an untested row is one if all must be proven")
    func problems() {
        let document = document(proof("x", "Tests/A.swift", "ONE-1", "TWO-1", "ONE-3"))
        let wrong = [
            "TWO-1 is not a requirement; named in Tests/A.swift", "ONE-3 is exempt, and has a test in Tests/A.swift",
        ]
        #expect(Set(document.problems(everyRowMustBeProven: false)) == Set(wrong))
        #expect(Set(document.problems(everyRowMustBeProven: true)) == Set(wrong + ["ONE-2 has no test"]))
    }
}
