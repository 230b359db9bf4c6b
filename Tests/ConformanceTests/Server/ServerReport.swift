// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `docs/conformance-server.md`: all rules of the Server API and whether they are kept. Written if
/// `STRATA_CONFORMANCE_WRITE=1`, compared otherwise.
struct ServerReport {
    let results: [ServerRuleCase: Outcome]

    private static var path: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/conformance-server.md")
    }

    /// True if all rules have been run. Otherwise there is no report.
    private var isComplete: Bool {
        ServerRuleTable.allCases.allSatisfy { results[$0] != nil && results[$0]?.skipped == nil }
    }

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
            "docs/conformance-server.md is not up to date; run the conformance tests with STRATA_CONFORMANCE_WRITE=1:\n"
                + lines.prefix(20).joined(separator: "\n")
        }
    }

    private var text: String {
        var lines = [
            "# Conformance of the Server API", "",
            "What the Server API promises to apps' own servers, rule by rule and version by version, and whether this server keeps it: written by",
            "`Tests/ConformanceTests/Server`, a black box that speaks HTTPS to a running system, and compared by every run. To write it anew:",
            "",
            "    STRATA_CONFORMANCE_WRITE=1 make test ARGS=\"--filter ConformanceTests\"", "",
            "The numbers are those of the API's description. A dash: the rule is not about that version. Where this server does something else on purpose, the",
            "table says *other*, and the list below it says why.", "",
        ]
        let versions = ServerAPIVersion.allCases
        lines += [
            "| Rules | " + versions.map(\.rawValue).joined(separator: " | ") + " |",
            "|--:|" + versions.map { _ in "--:|" }.joined(),
        ]
        lines += ["| \(ServerRuleTable.all.count) | " + versions.map { count($0) }.joined(separator: " | ") + " |"]
        for chapter in ServerRuleTable.chapters {
            lines += [
                "", "## \(chapter.title)", "",
                "| Number | Rule | " + versions.map(\.rawValue).joined(separator: " | ") + " |",
            ]
            lines += ["|---|---|" + versions.map { _ in "---|" }.joined()]
            lines += chapter.rules.map { rule in
                "| \(rule.id) | \(Self.escaped(rule.text)) | "
                    + versions.map { mark(rule, $0) }.joined(separator: " | ") + " |"
            }
        }
        let exceptions = ServerRuleTable.all.compactMap { rule in
            rule.exception.map { "* \(rule.id), \(Self.escaped(rule.text)): \($0)" }
        }
        lines += ["", "## What is done otherwise", ""] + (exceptions.isEmpty ? ["Nothing."] : exceptions)
        return lines.joined(separator: "\n") + "\n"
    }

    private func count(_ version: ServerAPIVersion) -> String {
        let cases = ServerRuleTable.all.filter { $0.exception == nil && $0.versions.contains(version) }
            .map { ServerRuleCase(rule: $0, version: version) }
        return "\(cases.filter { results[$0]?.isKept == true }.count) of \(cases.count) pass"
    }

    private func mark(_ rule: ServerRule, _ version: ServerAPIVersion) -> String {
        guard rule.versions.contains(version) else { return "–" }
        guard rule.exception == nil else { return "*other*" }
        return results[ServerRuleCase(rule: rule, version: version)]?.isKept == true ? "pass" : "**fail**"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "*", with: "\\*")
    }
}

/// Writes or compares the report at the end of the suite.
struct SettlesServerReport: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await function()
        try ServerReport(results: await ServerRunner.shared.results()).settle()
    }
}
