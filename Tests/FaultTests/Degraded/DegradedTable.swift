// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster

/// What works in which state, as `docs/degraded.md` says it and as it was observed.
struct DegradedTable: Sendable {
    typealias Cell = DegradedOperation.Cell

    private(set) var cells: [DegradedState: [DegradedOperation: Cell]] = [:]
    /// From the return of what was away to the first success.
    private(set) var seconds: [DegradedState: [DegradedOperation: Double]] = [:]

    mutating func observed(_ state: DegradedState, _ cells: [DegradedOperation: Cell]) { self.cells[state] = cells }
    mutating func recovered(_ state: DegradedState, _ seconds: [DegradedOperation: Double]) { self.seconds[state] = seconds }

    static var file: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/degraded.md")
    }

    /// The cells that the document has, by row and column.
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

    /// Writes the document.
    func write() throws {
        let text = """
            # When something is away

            What a running system does while a part of it is away: stopped, or hanging, so that it neither answers nor closes. One instance of each service; with several, an
            instance that is away is not noticed. A test (`Tests/FaultTests/Degraded`) makes each of these states, tries everything, and compares with the first table; with
            `STRATA_DEGRADED=write` it writes this file.

            ## What works

            **works**: as ever. **503**: `service_unavailable`, with `Retry-After` over REST; at once where the part is known to be away, and at the latest at the request's deadline of
            ten seconds where it hangs. **silent**: accepted, and nobody is told, as ephemeral things may be. **away**: there is no process to ask. Sessions are looked up in PostgreSQL, and known to a
            gateway for five seconds; then every request over REST that needs one is refused, while sockets stay open.

            A replay that a client asks for meanwhile is answered with `success: false`. It may ask again; a socket whose client has not asked again within 30 seconds is closed with 1013, so that none
            stays open and is told nothing. A socket that began without a replay, or that is to be brought into a conversation, goes on trying by itself, and is told everything when the part is there again.

            Where PostgreSQL comes back in an older state, or a replica takes its place, gateways close all sockets with 1001 as soon as they learn of it, within about 20 seconds; clients come back and replay
            ([operating.md](operating.md)).

            \(table { cells[$0]?[$1]?.description ?? "" })

            ## How soon it is well again

            Seconds from the moment the part is there again to the first success, without a restart of anything else. A process counts as there when it says that it is ready. Debug build,
            two processors that have other things to do; what is announced by itself may wait for the next time it is looked for.

            \(table { state, operation in
                guard let cell = cells[state]?[operation], cell != .works else { return "–" }
                return seconds[state]?[operation].map { String(format: "%.1f", $0) } ?? ""
            })

            ## What metrics and logs say

            `strata_dependency_up` is 0 for what is away and 1 for what is there; each process says it of what it needs itself. When a dependency goes there is one line in the log, of level `error`, and one of
            level `notice` when it is back, whatever the number of requests and of attempts to reach it. A process with several pools of connections to PostgreSQL writes a line for each, and says which.

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
                    "| \(state.title) | \(sign.process.rawValue) | `strata_dependency_up{dependency=\"\(sign.dependency)\"}` | “\(sign.lines.gone)”, “\(sign.lines.back)” |"
                }
            }
            .joined(separator: "\n")
    }
}
