// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestTiers
import Testing

/// `docs/conformance.md`: all rules and whether they are kept. Written if `STRATA_CONFORMANCE_WRITE=1`, compared
/// otherwise.
struct Report {
    let results: [RuleCase: Outcome]

    /// - Parameter results: The outcomes of the rules that were run. In the short tier, the omitted slow rules count as
    ///   kept.
    init(results: [RuleCase: Outcome]) {
        let untried = TestTier.current == .short ? RuleTable.allCases.filter(\.rule.isSlow) : []
        self.results = results.merging(untried.map { ($0, Outcome()) }) { tried, _ in tried }
    }

    private static var path: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/conformance.md")
    }

    /// True if all rules have been run. Otherwise there is no report.
    var isComplete: Bool { RuleTable.allCases.allSatisfy { results[$0] != nil && results[$0]?.skipped == nil } }

    /// Writes or compares the file.
    /// - Throws: ``Differs``.
    func settle() throws {
        guard isComplete else { return }
        if ProcessInfo.processInfo.environment["STRATA_CONFORMANCE_WRITE"] == "1" {
            try Data(text.utf8).write(to: Self.path)
            return
        }
        let committed = (try? String(contentsOf: Self.path, encoding: .utf8)) ?? ""
        guard committed != text else { return }
        let (old, new) = (Set(committed.split(separator: "\n")), Set(text.split(separator: "\n")))
        throw Differs(
            lines: new.subtracting(old).map { "+ \($0)" }.sorted() + old.subtracting(new).map { "- \($0)" }.sorted())
    }

    struct Differs: Error, CustomStringConvertible {
        let lines: [String]
        var description: String {
            "docs/conformance.md is not up to date; run the conformance tests with STRATA_CONFORMANCE_WRITE=1:\n"
                + lines.prefix(20).joined(separator: "\n")
        }
    }

    var text: String {
        var lines = [
            "# Conformance", "",
            "What the Client API promises, rule by rule, and whether this server keeps it: written by `Tests/ConformanceTests`, a black box that",
            "speaks HTTPS and WSS to a running system (`strata dev`, two gateways), and compared by every run of them. To write it anew:",
            "",
            "    STRATA_CONFORMANCE_WRITE=1 make test ARGS=\"--filter ConformanceTests\"", "",
            "Section numbers are those of the protocol's description. *core*: stock clients need it; *doc*: described, and not called by them.",
            "A dash: the rule is not about that version.", "",
        ]
        lines += counts
        for chapter in RuleTable.Chapter.allCases {
            let rules = RuleTable.rules(chapter)
            guard !rules.isEmpty else { continue }
            lines += [
                "", "## \(chapter.rawValue) \(chapter.title)", "", "| Section | Rule | Class | 2.0 | 3.0 |",
                "|---|---|---|---|---|",
            ]
            lines += rules.map { rule in
                "| \(rule.section) | \(Self.escaped(rule.text)) | \(rule.kind.rawValue) | \(mark(rule, .v2)) | \(mark(rule, .v3)) |"
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var counts: [String] {
        var lines = ["| | Rules | 2.0 | 3.0 |", "|---|--:|--:|--:|"]
        for kind in [Rule.Kind.core, .doc] {
            let rules = RuleTable.all.filter { $0.kind == kind }
            lines.append("| \(kind.rawValue) | \(rules.count) | \(count(rules, .v2)) | \(count(rules, .v3)) |")
        }
        lines.append("| all | \(RuleTable.all.count) | \(count(RuleTable.all, .v2)) | \(count(RuleTable.all, .v3)) |")
        return lines
    }

    private func count(_ rules: [Rule], _ version: ProtocolVersion) -> String {
        let cases = rules.filter { $0.versions.contains(version) }.map { RuleCase(rule: $0, version: version) }
        return "\(cases.filter { results[$0]?.isKept == true }.count) of \(cases.count) pass"
    }

    private func mark(_ rule: Rule, _ version: ProtocolVersion) -> String {
        guard rule.versions.contains(version) else { return "–" }
        return results[RuleCase(rule: rule, version: version)]?.isKept == true ? "pass" : "**fail**"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "*", with: "\\*")
    }
}

/// Writes or compares the report at the end of the suite, if all rules were run.
struct SettlesReport: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await function()
        try Report(results: await RuleRunner.shared.results()).settle()
    }
}

extension RuleTable.Chapter {
    var title: String {
        switch self {
        case .conventions: "Conventions"
        case .sessions: "Root, ping, sessions, push tokens"
        case .identities: "Identities and following"
        case .conversations: "Conversations"
        case .messages: "Messages and parts"
        case .receipts: "Receipts"
        case .content: "Rich content"
        case .announcements: "Announcements"
        case .channels: "Channels"
        case .sockets: "WebSocket"
        case .fanOut: "Fan-out matrix"
        case .patches: "The layer-patch format"
        case .versions: "Version differences"
        case .traces: "Stock client traces"
        case .checklist: "Compatibility checklist"
        case .additions: "Strata additions"
        }
    }
}
