// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster

/// The table of operations and states, as documented in `docs/degraded.md` and as observed.
struct DegradedTable: Sendable {
    typealias Cell = DegradedOperation.Cell

    private(set) var cells: [DegradedState: [DegradedOperation: Cell]] = [:]
    /// The time from the recovery of the dependency to the first success of each operation.
    private(set) var seconds: [DegradedState: [DegradedOperation: Double]] = [:]

    mutating func observed(_ state: DegradedState, _ cells: [DegradedOperation: Cell]) { self.cells[state] = cells }
    mutating func recovered(_ state: DegradedState, _ seconds: [DegradedOperation: Double]) {
        self.seconds[state] = seconds
    }

    static var file: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/degraded.md")
    }

    /// Returns the cells of the document, by row and column.
    static func committed() throws -> [String: [String: String]] {
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .drop { !$0.hasPrefix("## What works") }
            .dropFirst().drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
            .map { line in
                line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        guard let head = lines.first else { throw UnexpectedCell("\(file.path) has no table") }
        var table: [String: [String: String]] = [:]
        for line in lines.dropFirst(2) {
            guard let row = line.first else { continue }
            table[row] = Dictionary(zip(head.dropFirst(), line.dropFirst())) { $1 }
        }
        return table
    }

    func write() throws {
        let text = """
            # Degraded operation

            This page tells operators which operations work while PostgreSQL, Redis or a service is *away*, and how soon all of them work again.
            Away means stopped, or hanging: neither answering nor closing connections. The tables describe a system with one instance of each service.
            With several, users do not notice that one instance is away.
            With several databases, the column PostgreSQL is about the apps of the one that is away.

            `Tests/FaultTests/Degraded` creates each state, tries every operation, and compares the results with the first table.
            With `STRATA_DEGRADED=write`, the test writes this file.

            ## What works

            * **works**: as usual.
            * **503**: `service_unavailable`, with `Retry-After` over REST. The answer is immediate if the dependency is known to be away.
              If the dependency hangs, the answer takes at most 10 seconds, the request's deadline, or 12 for requests about webhooks.
            * **silent**: the request is accepted, but others are not notified. Ephemeral signals may be lost. Webhook events are kept, and delivered after recovery.
            * **away**: no process can answer.

            Sessions and server tokens are looked up in PostgreSQL, and cached in the gateway for up to 5 seconds. While PostgreSQL is away,
            the gateway then refuses every REST request that needs one; sockets stay open.

            A replay requested while a dependency is away is answered with `success: false`, and the client may retry. Without a retry within 30 seconds,
            the client's socket is closed with 1013, so that no open socket misses changes. A socket that began without a replay, or whose user was added
            to a conversation, retries automatically and receives everything after recovery.

            The service `webhooks` delivers the events that other services write to PostgreSQL. While it is away, no event is lost; after recovery, it delivers all in order.
            Events whose delivery was interrupted may arrive twice ([server-api.md](server-api.md#webhooks)).

            An object store for rich content (`STRATA_CONTENT_URL`) is not in the table. While it is away, uploads, and downloads through a gateway, are refused with 503:
            at once if it cannot be reached, within 10 seconds if it hangs, and up to 20 seconds later for requests that began before it was known to be away. Everything else works,
            gateways stay ready, and `strata_process_dependency_up{dependency="content"}` is 0. A gateway notices its return within 25 seconds.

            If PostgreSQL returns in an older state, or a replica replaces it, gateways close all sockets with 1001 on detection, within about 20 seconds.
            Clients reconnect and replay ([operating.md](operating.md#back-up-and-restore)).

            \(table { cells[$0]?[$1]?.description ?? "" })

            ## Recovery times

            The table shows seconds from a dependency's recovery to the first success, without a restart of other processes. A process has recovered when it reports ready.
            The test used a debug build on two processors that also did other work. Unsolicited packets may wait for the gateway's next check for changes.
            If a conversation's events were being delivered when `webhooks` or PostgreSQL went away, its next events wait for up to 30 seconds.
            In the test, receivers must answer within 1 second, and the wait is up to 12 seconds.

            \(table { state, operation in
                guard let cell = cells[state]?[operation], cell != .works else { return "–" }
                return seconds[state]?[operation].map { String(format: "%.1f", $0) } ?? ""
            })

            ## Metrics and logs

            `strata_process_dependency_up` is 0 for a dependency that is away and 1 for an available one. Each process reports its own dependencies.
            It logs one line of level `error` when a dependency goes away, and one of level `notice` on recovery, regardless of the number of requests and attempts.
            A process with several PostgreSQL connection pools logs one line for each pool, with its name.

            | State | Process | Metric | Log lines |
            |---|---|---|---|
            \(signs)

            """
        try text.write(to: Self.file, atomically: true, encoding: .utf8)
    }

    private func table(_ cell: (DegradedState, DegradedOperation) -> String) -> String {
        let states = DegradedState.allCases
        var lines = [
            "| | " + states.map(\.title).joined(separator: " | ") + " |",
            "|---|" + states.map { _ in "---" }.joined(separator: "|") + "|",
        ]
        for operation in DegradedOperation.allCases {
            lines.append(
                "| \(operation.rawValue) | " + states.map { cell($0, operation) }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }

    private var signs: String {
        DegradedState.allCases
            .flatMap { state in
                state.signs.map { sign in
                    "| \(state.title) | \(sign.process.rawValue) | `strata_process_dependency_up{dependency=\"\(sign.dependency)\"}` | “\(sign.lines.gone)”, “\(sign.lines.back)” |"
                }
            }
            .joined(separator: "\n")
    }
}
