// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import Testing

/// One rule of the Client API: a sentence, and a check that decides whether the server keeps it.
struct Rule: Sendable {
    /// The relevance of a rule for clients.
    enum Kind: String, Sendable {
        /// Required by stock clients in ordinary use.
        case core
        /// Documented behaviour that stock clients do not need.
        case doc
    }

    /// The rule's section in docs/conformance.md, such as `6.5`.
    let section: String
    let kind: Kind
    /// The requirement, in one sentence.
    let text: String
    let versions: [ProtocolVersion]
    /// True if the check waits for timeouts of the server. Slow rules start first and run beside the others.
    let isSlow: Bool
    let location: SourceLocation
    let check: @Sendable (Fixture) async throws -> Void

    init(
        _ section: String, _ text: String, _ kind: Kind = .core, versions: [ProtocolVersion] = ProtocolVersion.allCases,
        slow: Bool = false,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
        check: @escaping @Sendable (Fixture) async throws -> Void
    ) {
        self.section = section
        self.kind = kind
        self.text = text
        self.versions = versions
        isSlow = slow
        location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
        self.check = check
    }

    var name: String { "\(section) \(text)" }
}

/// A rule in one version: the unit that is run and passes or fails.
struct RuleCase: Sendable, Hashable, CustomTestStringConvertible {
    let rule: Rule
    let version: ProtocolVersion

    var name: String { "\(rule.name) (\(version.rawValue))" }
    var testDescription: String { name }

    static func == (one: RuleCase, other: RuleCase) -> Bool { one.name == other.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

struct Outcome: Sendable {
    /// Violations of the rule. Empty if the rule is kept.
    var failures: [String] = []
    /// The reason why the rule was not run; nil if it was.
    var skipped: String?

    var isKept: Bool { failures.isEmpty }
}
