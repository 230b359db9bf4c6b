// SPDX-License-Identifier: Apache-2.0

import Testing

/// Conformance of a running system to the Client API, tested from outside over HTTPS and WSS.
///
/// Each rule is a test case of its chapter, in each version it applies to. The rules are in `Rules/` and `Traces/`, not
/// in the test functions. Environment variables:
///
/// - `STRATA_CONFORMANCE_ONLY`: runs only the rules whose names contain this text.
/// - `STRATA_CONFORMANCE_WRITE`: `1` writes `docs/conformance.md`.
/// - `STRATA_CONFORMANCE_URL`: the HTTPS base URLs of a running system, separated by commas. Without it, the tests
///   start their own system.
/// - `STRATA_CONFORMANCE_APP`: for a running system, a file with the output of `strata app create --json`. The key file
///   it names must be readable.
/// - `STRATA_CONFORMANCE_CA`: a PEM file, for a running system whose certificate is not issued by a public authority.
/// - `STRATA_CONFORMANCE_HOME`: the home of the `strata dev` that serves a running system. Required by rules that use
///   the operator's command.
@Suite("conformance", SettlesReport())
enum Conformance {}

extension Conformance {
    @Suite("rules")
    struct Rules {
        @Test("every rule has a unique name, and the rules are in the order of their sections")
        func names() {
            let names = RuleTable.all.map(\.name)
            #expect(
                Set(names).count == names.count,
                "\(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys.sorted())")
            for chapter in RuleTable.Chapter.allCases {
                let numbers = RuleTable.rules(chapter).map { $0.section.split(separator: ".").compactMap { Int($0) } }
                #expect(numbers.allSatisfy { $0.first == chapter.rawValue }, "\(chapter)")
                #expect(
                    zip(numbers, numbers.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) }, "\(chapter)")
            }
        }

        @Test("1 conventions", arguments: RuleTable.cases(.conventions))
        func conventions(_ rule: RuleCase) async { await verify(rule, .conventions) }

        @Test("4 identities and following", arguments: RuleTable.cases(.identities))
        func identities(_ rule: RuleCase) async { await verify(rule, .identities) }

        @Test("5 conversations", arguments: RuleTable.cases(.conversations))
        func conversations(_ rule: RuleCase) async { await verify(rule, .conversations) }

        @Test("6 messages and parts", arguments: RuleTable.cases(.messages))
        func messages(_ rule: RuleCase) async { await verify(rule, .messages) }

        @Test("7 receipts", arguments: RuleTable.cases(.receipts))
        func receipts(_ rule: RuleCase) async { await verify(rule, .receipts) }

        @Test("8 rich content", arguments: RuleTable.cases(.content))
        func content(_ rule: RuleCase) async { await verify(rule, .content) }

        @Test("9 announcements", arguments: RuleTable.cases(.announcements))
        func announcements(_ rule: RuleCase) async { await verify(rule, .announcements) }

        @Test("11 channels", arguments: RuleTable.cases(.channels))
        func channels(_ rule: RuleCase) async { await verify(rule, .channels) }

        @Test("13 fan-out matrix", arguments: RuleTable.cases(.fanOut))
        func fanOut(_ rule: RuleCase) async { await verify(rule, .fanOut) }

        @Test("14 the layer-patch format", arguments: RuleTable.cases(.patches))
        func patches(_ rule: RuleCase) async { await verify(rule, .patches) }

        @Test("15 version differences", arguments: RuleTable.cases(.versions))
        func versions(_ rule: RuleCase) async { await verify(rule, .versions) }

        @Test("16 stock client traces", arguments: RuleTable.cases(.traces))
        func traces(_ rule: RuleCase) async { await verify(rule, .traces) }

        @Test("17 compatibility checklist", arguments: RuleTable.cases(.checklist))
        func checklist(_ rule: RuleCase) async { await verify(rule, .checklist) }

        @Test("18 Strata additions", arguments: RuleTable.cases(.additions))
        func additions(_ rule: RuleCase) async { await verify(rule, .additions) }

        // These two chapters come last. Their slow rules started together with the first rule, and are done or nearly
        // done by then.

        @Test("3 root, ping, sessions, push tokens", arguments: RuleTable.cases(.sessions))
        func sessions(_ rule: RuleCase) async { await verify(rule, .sessions) }

        @Test("12 WebSocket", arguments: RuleTable.cases(.sockets))
        func sockets(_ rule: RuleCase) async { await verify(rule, .sockets) }

        private func verify(_ rule: RuleCase, _ chapter: RuleTable.Chapter) async {
            let outcome = await RuleRunner.shared.outcome(of: rule, in: chapter)
            guard !outcome.failures.isEmpty else { return }
            Issue.record(
                "\(rule.name):\n  \(outcome.failures.joined(separator: "\n  "))", sourceLocation: rule.rule.location)
        }
    }
}
