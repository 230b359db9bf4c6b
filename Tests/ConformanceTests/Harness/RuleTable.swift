// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestTiers

/// All rules, in the order of the sections of docs/conformance.md.
enum RuleTable {
    enum Chapter: Int, CaseIterable {
        case conventions = 1
        case sessions = 3
        case identities, conversations, messages, receipts, content, announcements
        case channels = 11
        case sockets, fanOut, patches, versions, traces, checklist, additions
    }

    static func rules(_ chapter: Chapter) -> [Rule] {
        switch chapter {
        case .conventions: S01.rules
        case .sessions: S03.rules
        case .identities: S04.rules
        case .conversations: S05.rules
        case .messages: S06.rules
        case .receipts: S07.rules
        case .content: S08.rules
        case .announcements: S09.rules
        case .channels: S11.rules
        case .sockets: S12Requests.rules + S12Changes.rules + S12Sync.rules
        case .fanOut: S13.rules
        case .patches: S14.rules
        case .versions: S15.rules
        case .traces: S16.rules
        case .checklist: S17.rules
        case .additions: S18Mutations.rules + S18Blocking.rules
        }
    }

    static let all = Chapter.allCases.flatMap { rules($0) }
    static let allCases = all.flatMap { rule in rule.versions.map { RuleCase(rule: rule, version: $0) } }

    /// Returns the cases of a chapter to run. `STRATA_CONFORMANCE_ONLY` selects cases by a part of their name. The
    /// short tier omits slow rules.
    static func cases(_ chapter: Chapter) -> [RuleCase] {
        let cases = rules(chapter).filter { TestTier.current == .long || !$0.isSlow }
            .flatMap { rule in rule.versions.map { RuleCase(rule: rule, version: $0) } }
        guard let only = ProcessInfo.processInfo.environment["STRATA_CONFORMANCE_ONLY"] else { return cases }
        return cases.filter { $0.name.contains(only) }
    }
}
