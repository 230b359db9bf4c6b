// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import Soak

final class FaultTable: Sendable {
    struct Row: Sendable, CustomStringConvertible {
        let faults: String
        let clients: Int
        /// The duration of the load, including the faults.
        let duration: Duration
        let acknowledged: Int
        let refused: Int
        let unknown: Int
        let violations: [Violation.Kind: Int]
        /// The time from the end of the load until every client had received everything.
        let recovery: Duration

        func count(_ kinds: Violation.Kind...) -> Int { kinds.reduce(0) { $0 + (violations[$1] ?? 0) } }
        var others: Int { violations.values.reduce(0, +) - count(.lost, .duplicated, .reordered) }
        static func seconds(_ duration: Duration) -> String {
            duration.formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1)))
        }
        var load: String {
            let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
            return "\(clients) clients, \(Int(Double(acknowledged + refused + unknown) / max(seconds, 1)))/s"
        }

        var description: String {
            "\(faults): \(load); \(acknowledged) acknowledged, \(unknown) unknown; \(count(.lost)) lost, \(count(.duplicated)) duplicated, "
                + "\(count(.reordered)) reordered, \(others) otherwise wrong; all told after \(Self.seconds(recovery))"
        }

        fileprivate var line: String {
            "| \(faults) | \(load) | \(acknowledged) | \(unknown) | \(count(.lost)) | \(count(.duplicated)) | \(count(.reordered)) | \(others) | "
                + "\(Self.seconds(recovery)) |"
        }
    }

    private let title: String
    private let seed: UInt64
    private let isLong: Bool
    private let rows = Mutex<[Row]>([])

    /// - Parameters:
    ///   - subject: the beginning of the title; nil: a form of all faults.
    ///   - isLong: true for faults that last longer.
    init(_ subject: String? = nil, seed: UInt64, isLong: Bool) {
        let form = isLong ? "long form" : "short form"
        title = "## " + (subject.map { "\($0), \(form)" } ?? form.prefix(1).uppercased() + form.dropFirst())
        (self.seed, self.isLong) = (seed, isLong)
    }

    func add(_ row: Row) { rows.withLock { $0.append(row) } }

    /// Writes the table to its section of `docs/faults.md`. Other sections are kept.
    func write() throws { try Self.write(section, titled: title, first: title == "## Short form") }

    /// Writes a section of `docs/faults.md`. It replaces the section with the same title, or is inserted before or
    /// after all others.
    static func write(_ section: String, titled title: String, first: Bool) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "docs/faults.md")
        let present = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        var sections = present.components(separatedBy: "\n## ").dropFirst()
            .map { "## " + $0.trimmingCharacters(in: .newlines) }
        let place = sections.firstIndex { $0.hasPrefix(title) }
        if let place { sections.remove(at: place) }
        sections.insert(section, at: place ?? (first ? sections.startIndex : sections.endIndex))
        try (introduction + "\n\n" + sections.joined(separator: "\n\n") + "\n")
            .write(to: file, atomically: true, encoding: .utf8)
    }

    private static let introduction = """
        # Fault tests

        Clients on two gateways, with two instances of each service, write continuously during faults. They send messages, receipts and typing,
        set metadata on own and contended keys, and add and remove participants. Afterwards, a checker compares the answers and packets that
        they received with the change log.
        Apps with StrataKit, apps with strata.js, and both side by side are run through faults of their own, and judged by the same checker.
        Systems with a Redis Cluster of three masters and three replicas, and with a single Redis that has a replica, carry the same load
        while replicas take over.

        * **Unknown**: changes without an answer, or with one that leaves the outcome open.
        * **Other violations**: broken promises except loss, duplication and reordering. Examples: data sent to a stranger, a wrong count,
          metadata that a later acknowledged write should have replaced, a typing indicator that stays.
        * **All received after**: the time from the end of the load. It includes 0.5 to 2 seconds' wait for a last change in each conversation.
        * **Hostile users** keep to the protocol and the rate limits. They add others to conversations with metadata of the maximum size,
          read every other message, request everything without reading answers, and use message ids twice concurrently.
          In trials with hostile users only, an unserved honest user is a violation. A database deadlock is always one.
        """

    private var section: String {
        let rows = rows.withLock { $0 }
        let acknowledged = rows.reduce(0) { $0 + $1.acknowledged }
        let violations = rows.reduce(0) { $0 + $1.violations.values.reduce(0, +) }
        return """
            \(title)

            `make fault-test\(isLong ? " LONG=1" : "")`, seed \(seed): \(rows.count) trials, \(acknowledged) acknowledged changes, \(violations) violations.

            | Fault | Load | Acknowledged | Unknown | Lost | Duplicated | Reordered | Other violations | All received after |
            |---|---|--:|--:|--:|--:|--:|--:|--:|
            \(rows.map(\.line).joined(separator: "\n"))
            """
    }
}
