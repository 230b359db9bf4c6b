// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What came of a run of faults, for people.
struct FaultTable: Sendable {
    /// One trial.
    struct Row: Sendable, CustomStringConvertible {
        let faults: String
        let clients: Int
        let acknowledged: Int
        let unknown: Int
        let violations: [Violation.Kind: Int]
        /// From the end of the load until everybody had been told everything.
        let recovery: Duration

        private func count(_ kinds: Violation.Kind...) -> Int { kinds.reduce(0) { $0 + (violations[$1] ?? 0) } }
        private var others: Int { violations.values.reduce(0, +) - count(.lost, .duplicated, .reordered) }
        private var seconds: String { recovery.formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1))) }

        var description: String {
            "\(faults): \(acknowledged) acknowledged, \(unknown) unknown; \(count(.lost)) lost, \(count(.duplicated)) duplicated, "
                + "\(count(.reordered)) reordered, \(others) otherwise wrong; all told after \(seconds)"
        }

        fileprivate var line: String {
            "| \(faults) | \(clients) | \(acknowledged) | \(unknown) | \(count(.lost)) | \(count(.duplicated)) | \(count(.reordered)) | \(others) | \(seconds) |"
        }
    }

    let seed: UInt64
    private(set) var rows: [Row] = []

    init(seed: UInt64) { self.seed = seed }

    mutating func add(_ row: Row) { rows.append(row) }

    /// Into `docs/faults.md`.
    func write() throws {
        let total = rows.reduce((0, 0)) { ($0.0 + $1.acknowledged, $0.1 + $1.violations.values.reduce(0, +)) }
        let text = """
            # What was broken, and what came of it

            Written by `make fault-test LONG=1`: clients write without a pause while two or three things break at once; afterwards a checker compares what they were answered
            and told with the change log. Seed \(seed); \(rows.count) trials, \(total.0) acknowledged changes, \(total.1) violations of any promise.

            | Faults | Clients | Acknowledged | Outcome unknown | Lost | Duplicated | Reordered | Otherwise wrong | All told after |
            |---|--:|--:|--:|--:|--:|--:|--:|--:|

            """
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        try (text + rows.map(\.line).joined(separator: "\n") + "\n")
            .write(to: root.appending(path: "docs/faults.md"), atomically: true, encoding: .utf8)
    }
}
