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
    mutating func recovered(_ state: DegradedState, _ seconds: [DegradedOperation: Double]) { self.seconds[state] = seconds }

    static var file: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/degraded.md")
    }

    /// Returns the cells of the document, by row and column.
    static func committed() throws -> [String: [String: String]] {
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").drop { !$0.hasPrefix("## What works") }
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
            # When something is away

            This page is for operators: it says what still works while PostgreSQL, Redis or a service is *away*, and how soon everything works again. Away means stopped, or hanging, so that it neither
            answers nor closes connections. The tables describe a system with one instance of each service; with several, users do not notice that one instance is away.

            A test (`Tests/FaultTests/Degraded`) makes each of these states, tries every operation, and compares the result with the first table; with `STRATA_DEGRADED=write` it writes this file.

            ## What works

            * **works**: as usual.
            * **503**: `service_unavailable`, with `Retry-After` over REST. The answer comes at once if the part is known to be away; if the part hangs, it comes after ten seconds at most, the request's deadline,
              or twelve for a request about webhooks.
            * **silent**: the request is accepted, but others are not told. Ephemeral signals may be lost; what a webhook is to be told is kept, and it is told when the part is back.
            * **away**: there is no process that could answer.

            Sessions and server tokens are looked up in PostgreSQL, and a gateway remembers one for up to five seconds. While PostgreSQL is away, it then refuses every REST request that needs one; sockets stay open.

            A replay that a client asks for meanwhile is answered with `success: false`. The client may ask again; if it does not within 30 seconds, its socket is closed with 1013, so that no socket
            stays open without being told of changes. A socket that began without a replay, or whose user was added to a conversation, tries again by itself, and is told everything when the part is back.

            The service `webhooks` tells webhooks of what the other services have written to PostgreSQL. While it is away, nothing is lost: when it is back, they are told of it all, in order. A receiver may be told twice
            of what was being delivered ([server-api.md](server-api.md#webhooks)).

            If PostgreSQL comes back in an older state, or a replica takes its place, gateways close all sockets with 1001 as soon as they learn of it, within about 20 seconds. Clients come back and replay
            ([operating.md](operating.md#back-up-and-restore)).

            \(table { cells[$0]?[$1]?.description ?? "" })

            ## How soon it is well again

            Seconds from the moment the part is back to the first success, without a restart of any other process. A process counts as back when it says that it is ready. Measured with a debug build on
            two processors that also did other work. Packets that the server sends unasked may wait until the gateway next looks for changes. Where events of a conversation were being
            delivered when `webhooks` or PostgreSQL went away, the next ones wait for up to 30 seconds; in the test, in which receivers have a second to answer, for up to 12.

            \(table { state, operation in
                guard let cell = cells[state]?[operation], cell != .works else { return "–" }
                return seconds[state]?[operation].map { String(format: "%.1f", $0) } ?? ""
            })

            ## What metrics and logs say

            `strata_process_dependency_up` is 0 for a dependency that is away and 1 for one that is available; each process reports its own dependencies. When a dependency goes away, the log gets one line of level
            `error`, and one of level `notice` when it is back, however many requests and attempts to reach it there are. A process with several pools of connections to PostgreSQL writes a line for each pool, and names it.

            | State | Process | Metric | Lines |
            |---|---|---|---|
            \(signs)

            """
        try text.write(to: Self.file, atomically: true, encoding: .utf8)
    }

    private func table(_ cell: (DegradedState, DegradedOperation) -> String) -> String {
        let states = DegradedState.allCases
        var lines = ["| | " + states.map(\.title).joined(separator: " | ") + " |", "|---|" + states.map { _ in "---" }.joined(separator: "|") + "|"]
        for operation in DegradedOperation.allCases {
            lines.append("| \(operation.rawValue) | " + states.map { cell($0, operation) }.joined(separator: " | ") + " |")
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
