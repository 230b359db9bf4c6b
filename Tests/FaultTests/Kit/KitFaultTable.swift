// SPDX-License-Identifier: Apache-2.0

import Foundation
import KitClient
import Synchronization

@testable import Soak

/// The human-readable results of the fault tests of apps.
final class KitFaultTable: Sendable {
    struct Row: Sendable, CustomStringConvertible {
        let faults: String
        let devices: Int
        let duration: Duration
        let accepted: Int
        let open: Int
        let thrown: Int
        let failed: Int
        let unreadable: Int
        let kills: Int
        let rebuilt: Int
        let violations: [Violation.Kind: Int]
        /// The time from the end of the load until every store equaled a fresh load.
        let recovery: Duration

        init(
            _ faults: String, _ story: KitStory, _ violations: [Violation], devices: Int, duration: Duration,
            recovery: Duration
        ) {
            (self.faults, self.devices, self.duration, self.recovery) = (faults, devices, duration, recovery)
            // Exclude commands that are not changes, and those that found nothing to change.
            let changes = story.records.filter { $0.conversation != nil }
            accepted = changes.count { $0.outcome == .accepted }
            open = changes.count { $0.outcome == .open }
            thrown = changes.count { $0.outcome == .thrown }
            unreadable = changes.count(where: \.isUnreadable)
            (failed, kills, rebuilt) = (story.failures.count, story.kills, story.rebuilt)
            self.violations = Dictionary(grouping: violations, by: \.kind).mapValues(\.count)
        }

        private func count(_ kinds: Violation.Kind...) -> Int { kinds.reduce(0) { $0 + (violations[$1] ?? 0) } }
        private var others: Int { violations.values.reduce(0, +) - count(.lost, .duplicated, .reordered) }
        private var seconds: String {
            recovery.formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1)))
        }

        var description: String {
            "\(faults): \(devices) apps, \(accepted) accepted, \(open) open, \(thrown) thrown, \(failed) told as failed, \(unreadable) unreadable; "
                + "\(kills) kills, \(rebuilt) rebuilt; \(count(.lost)) lost, \(count(.duplicated)) duplicated, \(count(.reordered)) reordered, "
                + "\(others) otherwise wrong; all equal after \(seconds)"
        }

        fileprivate var line: String {
            "| \(faults) | \(accepted) | \(open) | \(thrown) | \(failed) | \(kills) | \(rebuilt) | \(unreadable) | \(count(.lost)) | "
                + "\(count(.duplicated)) | \(count(.reordered)) | \(others) | \(seconds) |"
        }
    }

    private let library: KitLibrary
    private let seed: UInt64
    private let minutes: Int?
    private let rows = Mutex<[Row]>([])

    init(_ library: KitLibrary, seed: UInt64, minutes: Int?) {
        (self.library, self.seed, self.minutes) = (library, seed, minutes)
    }

    func add(_ row: Row) { rows.withLock { $0.append(row) } }

    /// Writes the table to its section of `docs/faults.md`. Other sections are kept.
    func write() throws { try FaultTable.write(section, titled: title, first: false) }

    private var title: String { "## \(library.rawValue), \(minutes == nil ? "short" : "long") form" }

    private var introduction: String {
        switch library {
        case .strataKit:
            """
            Four apps of three users make changes during faults; two apps share a user. Each app is a process with StrataKit and its own store. It reports the changes that
            StrataKit accepted, threw, and later reported as failed. Then the checker compares these with the change log, and each store with a fresh load.
            """
        case .strataJS:
            """
            The same apps as processes of Node.js with strata.js, alone or two beside two with StrataKit. Their storage is files that are written like a transaction of
            IndexedDB: whole or not at all. A change counts as accepted once it is stored. The checker is that of StrataKit.
            """
        }
    }

    private var section: String {
        let rows = rows.withLock { $0 }
        let violations = rows.reduce(0) { $0 + $1.violations.values.reduce(0, +) }
        let command = minutes.map { "`STRATA_KIT_FAULT_MINUTES=\($0)`" } ?? "Without `STRATA_KIT_FAULT_MINUTES`"
        return """
            \(title)

            \(introduction)

            * **Open**: changes during which the app was killed.
            * **Rebuilt**: stores found to be damaged.
            * **Unreadable**: unsent changes of which the damage left nothing that another reader of the file could find.
            * **Other violations** include each line in which a store and a fresh load differ.

            \(command), seed \(seed): \(rows.count) trials, \(rows.reduce(0) { $0 + $1.accepted }) accepted changes, \(rows.reduce(0) { $0 + $1.kills }) app kills, \
            \(rows.reduce(0) { $0 + $1.rebuilt }) stores rebuilt, \(violations) violations.

            | Fault | Accepted | Open | Thrown | Reported as failed | Kills | Rebuilt | Unreadable | Lost | Duplicated | Reordered | Other violations | All equal after |
            |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
            \(rows.map(\.line).joined(separator: "\n"))
            """
    }
}
