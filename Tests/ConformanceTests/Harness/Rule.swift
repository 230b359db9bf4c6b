// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import Testing

/// One rule of the Client API: a sentence that a server keeps or breaks, and how to find out which.
struct Rule: Sendable {
    /// Which clients a rule matters for.
    enum Kind: String, Sendable {
        /// Stock clients need it in ordinary use.
        case core
        /// It is described, but stock clients get along without it.
        case doc
    }

    /// The section of docs/conformance.md that it belongs to, such as `6.5`.
    let section: String
    let kind: Kind
    /// What is so, in one sentence.
    let text: String
    let versions: [ProtocolVersion]
    /// Whether it has to wait for periods of the server's; such rules run beside the others from the beginning.
    let isSlow: Bool
    let location: SourceLocation
    let check: @Sendable (Fixture) async throws -> Void

    init(
        _ section: String, _ text: String, _ kind: Kind = .core, versions: [ProtocolVersion] = ProtocolVersion.allCases, slow: Bool = false,
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

    /// Unique among all rules.
    var name: String { "\(section) \(text)" }
}

/// A rule in one version: what is run, and what passes or fails.
struct RuleCase: Sendable, Hashable, CustomTestStringConvertible {
    let rule: Rule
    let version: ProtocolVersion

    var name: String { "\(rule.name) (\(version.rawValue))" }
    var testDescription: String { name }

    static func == (one: RuleCase, other: RuleCase) -> Bool { one.name == other.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// How a rule was found to be kept or not.
struct Outcome: Sendable {
    /// What was not as it has to be; none: the rule is kept.
    var failures: [String] = []
    /// Why it could not be tried at all.
    var skipped: String?

    var isKept: Bool { failures.isEmpty }
}
