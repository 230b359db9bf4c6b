// SPDX-License-Identifier: Apache-2.0

/// The document `docs/stratakit.md`: each requirement with its proofs. The text is derived from requirements and proofs
/// only.
struct RequirementDocument {
    let groups: [RequirementGroup]
    /// The proofs by requirement id, in the order of files and of tests within a file.
    private let proofs: [String: [Proof]]

    init(groups: [RequirementGroup], proofs: [Proof]) {
        self.groups = groups
        var byID: [String: [Proof]] = [:]
        let files = Dictionary(grouping: proofs, by: \.file)
        for file in files.keys.sorted() {
            for proof in files[file] ?? [] {
                for id in Set(proof.ids) { byID[id, default: []].append(proof) }
            }
        }
        self.proofs = byID
    }

    private var requirements: [Requirement] { groups.flatMap(\.requirements) }

    /// Returns descriptions of all inconsistencies between requirements and tests.
    /// - Parameter everyRowMustBeProven: true if a requirement without a test is an inconsistency.
    func problems(everyRowMustBeProven: Bool) -> [String] {
        let known = Dictionary(requirements.map { ($0.id, $0) }) { first, _ in first }
        var problems = proofs.keys.filter { known[$0] == nil }.sorted()
            .map { "\($0) is not a requirement; named in \(files($0))" }
        for requirement in requirements {
            let isShown = proofs[requirement.id] != nil
            if requirement.exempt != nil && isShown {
                problems.append("\(requirement.id) is exempt, and has a test in \(files(requirement.id))")
            }
            if everyRowMustBeProven && isOpen(requirement) { problems.append("\(requirement.id) has no test") }
        }
        return problems
    }

    private func files(_ id: String) -> String { (proofs[id] ?? []).map(\.file).joined(separator: ", ") }
    private func isOpen(_ requirement: Requirement) -> Bool {
        requirement.exempt == nil && proofs[requirement.id] == nil
    }
}

extension RequirementDocument {
    var text: String {
        var lines = Self.introduction + counts
        for group in groups {
            lines += ["", "## \(group.title)", "", "| Id | Requirement | Tests |", "|---|---|---|"]
            lines += group.requirements.map { "| \($0.id) | \(Self.cell($0.sentence)) | \(shown($0)) |" }
        }
        return (lines + open).joined(separator: "\n") + "\n"
    }

    private static let introduction = [
        "# StrataKit requirements", "",
        "StrataKit is the client library in `Clients/StrataKit`. Each row is a requirement, with the tests that prove it, or the reason",
        "why none can run here. \"not yet\" marks an intended requirement that no test proves. Tests name their rows with `.proves(\"…\")`.",
        "`RequirementTests` compares this file with `Tests/StrataKitTests/Requirements` and the sources of the tests. To rewrite it:",
        "",
        "    STRATA_STRATAKIT_WRITE=1 make test ARGS=\"--filter RequirementTests\"", "",
    ]

    private var counts: [String] {
        var lines = ["| | Rows | Shown | Not testable here | Not shown yet |", "|---|--:|--:|--:|--:|"]
        lines += groups.map { count($0.title, $0.requirements) }
        return lines + [count("all", requirements)]
    }

    private func count(_ title: String, _ rows: [Requirement]) -> String {
        let exempt = rows.count { $0.exempt != nil }
        let open = rows.count(where: isOpen)
        return "| \(title) | \(rows.count) | \(rows.count - exempt - open) | \(exempt) | \(open) |"
    }

    private func shown(_ requirement: Requirement) -> String {
        if let exempt = requirement.exempt { return "no test: \(Self.cell(exempt))" }
        return proofs[requirement.id].map { $0.map(Self.link).joined(separator: "; ") } ?? "not yet"
    }

    private static func link(_ proof: Proof) -> String {
        "[\(proof.isSuite ? "all of " : "")\(cell(proof.name))](../\(proof.file))"
    }

    /// The requirements without a test, one line per group.
    private var open: [String] {
        let rows = requirements.filter(isOpen)
        guard !rows.isEmpty else { return [] }
        let lines = groups.compactMap { group in
            let ids = group.requirements.filter(isOpen).map(\.id)
            return ids.isEmpty ? nil : "* \(group.title): \(ids.joined(separator: ", "))"
        }
        return ["", "## Not shown yet: \(rows.count)", ""] + lines
    }

    /// Returns text escaped for a Markdown table cell. Code between backticks is not escaped.
    private static func cell(_ text: String) -> String {
        let pieces = text.replacing("\n", with: " ").replacing("|", with: "\\|")
            .split(separator: "`", omittingEmptySubsequences: false)
        return pieces.enumerated().map { index, piece in index.isMultiple(of: 2) ? escaped(piece) : String(piece) }
            .joined(separator: "`")
    }

    private static func escaped(_ text: Substring) -> String {
        String(text.flatMap { "<*_[]".contains($0) ? ["\\", $0] : [$0] })
    }
}
