// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@Suite("requirements of StrataKit and their tests")
struct RequirementTests {
    @Test("docs/stratakit.md agrees with the requirements and tests")
    func document() throws {
        let text = RequirementDocument(groups: Requirements.groups, proofs: try Repository.proofs()).text
        if ProcessInfo.processInfo.environment["STRATA_STRATAKIT_WRITE"] == "1" {
            try Data(text.utf8).write(to: Repository.root.appending(path: "docs/stratakit.md"))
        }
        let committed = (try? Repository.text("docs/stratakit.md")) ?? ""
        guard committed != text else { return }
        let (old, new) = (committed.split(separator: "\n"), text.split(separator: "\n"))
        let lines =
            Set(new).subtracting(old).map { "+ \($0)" }.sorted() + Set(old).subtracting(new).map { "- \($0)" }.sorted()
        Issue.record(
            "docs/stratakit.md is not up to date; run this test with STRATA_STRATAKIT_WRITE=1:\n\(lines.prefix(20).joined(separator: "\n"))"
        )
    }

    @Test("tests name only existing requirements that are testable here")
    func problems() throws {
        let document = RequirementDocument(groups: Requirements.groups, proofs: try Repository.proofs())
        let problems = document.problems(everyRowMustBeProven: Requirements.everyRowMustBeProven)
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }

    @Test(
        "ids are well-formed, ascend within their prefix, and have the prefixes of their group",
        arguments: Requirements.groups)
    func ids(_ group: RequirementGroup) {
        let ids = group.requirements.map(\.id)
        #expect(ids.allSatisfy(Proves.isWellFormed))
        let keys = ids.map { id in
            let halves = id.split(separator: "-")
            return [group.prefixes.firstIndex(of: String(halves[0])) ?? -1, Int(halves[1]) ?? -1]
        }
        #expect(keys.allSatisfy { $0[0] >= 0 })
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }

    @Test("requirements are complete sentences, and exemptions name their needs", arguments: Requirements.groups)
    func sentences(_ group: RequirementGroup) {
        for requirement in group.requirements {
            #expect(requirement.sentence.hasSuffix("."), "\(requirement.id)")
            #expect(requirement.exempt?.hasPrefix("needs ") != false, "\(requirement.id)")
        }
    }

    @Test("two groups have no common prefix")
    func prefixes() {
        let prefixes = Requirements.groups.flatMap(\.prefixes)
        #expect(Set(prefixes).count == prefixes.count)
    }
}

extension RequirementGroup: CustomTestStringConvertible {
    var testDescription: String { title }
}
