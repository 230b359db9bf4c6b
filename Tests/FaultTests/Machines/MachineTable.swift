// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestCluster

@testable import Soak

/// The interruption of service that clients noticed during an event.
struct Interruption: Sendable {
    /// The longest time in which a client received nothing; nil: never longer than ``FaultClient/longPause``.
    let longest: Duration?
    /// The time from the beginning of the event until the last of these times ended.
    let recovered: Duration?
    /// The pauses by client, for failure messages.
    let pauses: [String]

    /// - Parameter begun: The beginning of the event.
    init(_ load: Load, since begun: ContinuousClock.Instant) {
        let all = load.clients
            .flatMap { client in client.pauses.filter { $0.upperBound > begun }.map { (client.user.user, $0) } }
        longest = all.map { $1.upperBound - $1.lowerBound }.max()
        recovered = all.map { $1.upperBound - begun }.max()
        pauses = all.map { "\($0): \($1.lowerBound - begun) to \($1.upperBound - begun)" }
    }
}

/// The section "Many machines" of `docs/faults.md`.
final class MachineTable: Sendable {
    struct Row: Sendable, CustomStringConvertible {
        let trial: FaultTable.Row
        let interruption: Interruption
        /// Attempts that were answered with "try again", and those that were not answered.
        let openAttempts: (unavailable: Int, unanswered: Int)

        var description: String {
            let cells =
                [trial.faults, trial.load, "\(trial.acknowledged)"]
                + [openAttempts.unavailable, openAttempts.unanswered, trial.count(.lost), trial.count(.duplicated)]
                .map { "\($0)" }
                + ["\(trial.count(.reordered))", "\(trial.others)"]
                + [interruption.longest, interruption.recovered].map { $0.map(FaultTable.Row.seconds) ?? "–" }
            return "| \(cells.joined(separator: " | ")) |"
        }
    }

    private let rows = Mutex<[Row]>([])

    func add(_ row: Row) { rows.withLock { $0.append(row) } }

    func write() throws {
        let rows = rows.withLock { $0 }
        let title = "## Many machines"
        let section = """
            \(title)

            `make fault-test` as root: 3 gateways, 2 of each service, 2 PostgreSQL servers with a database each, and 3 Redis masters,
            each in a network namespace with an address of its own.
            A packet takes 1 ms. Links are down for 10 s, and lost machines are replaced after 10 s.
            Clients test a gateway after 2 silent seconds, and leave it 3 s later; StrataKit takes 45 s, strata.js 40 s.

            * **503**, **No answer**: attempts of changes; each was repeated until it had an answer.
            * **Longest pause**: the longest time in which a client received nothing. –: never more than 0.5 s.
            * **Normal after**: from the beginning of the event until the last pause of more than 0.5 s had ended.

            | Event | Load | Acknowledged | 503 | No answer | Lost | Duplicated | Reordered | Other violations | Longest pause | Normal after |
            |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
            \(rows.map(\.description).joined(separator: "\n"))
            """
        try FaultTable.write(section, titled: title, first: false)
    }
}
