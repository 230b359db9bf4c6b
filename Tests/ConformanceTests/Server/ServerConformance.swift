// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Conformance of a running system to the Server API, tested from outside. The rules are in the `SR…` files beside this
/// one.
@Suite("conformance of the Server API", SettlesServerReport())
enum ServerConformance {}

extension ServerConformance {
    @Suite("rules of the Server API")
    struct Rules {
        @Test("every rule has a unique name, and the rules of a chapter are in the order of their numbers")
        func names() {
            let names = ServerRuleTable.all.map(\.name)
            #expect(
                Set(names).count == names.count,
                "\(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys.sorted())")
            for chapter in ServerRuleTable.chapters {
                let numbers = chapter.rules.map(\.number)
                #expect(numbers == numbers.sorted(), "\(chapter.title)")
            }
        }

        @Test("each version keeps each rule", arguments: ServerRuleTable.cases)
        func rules(_ rule: ServerRuleCase) async {
            let outcome = await ServerRunner.shared.outcome(of: rule)
            guard !outcome.failures.isEmpty else { return }
            Issue.record(
                "\(rule.name):\n  \(outcome.failures.joined(separator: "\n  "))", sourceLocation: rule.rule.location)
        }
    }
}

enum ServerRuleTable {
    static let chapters: [(title: String, rules: [ServerRule])] = [
        ("Addresses, requests, answers", SRConventions.rules), ("Conversations", SRConversations.rules),
        ("Messages", SRMessages.rules),
        ("Rich content", SRContent.rules), ("Announcements and notifications", SRAnnouncements.rules),
        ("Users", SRUsers.rules),
        ("Patches", SRPatches.rules), ("Webhooks", SRWebhooks.rules),
    ]

    static let all = chapters.flatMap(\.rules)
    static let allCases = all.flatMap { rule in rule.versions.map { ServerRuleCase(rule: rule, version: $0) } }

    /// The cases to run. To work on one rule, set `STRATA_CONFORMANCE_ONLY` to a part of its name.
    static let cases: [ServerRuleCase] = {
        guard let only = ProcessInfo.processInfo.environment["STRATA_CONFORMANCE_ONLY"] else { return allCases }
        return allCases.filter { $0.name.contains(only) }
    }()
}
