// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `docs/authorization.md`: the observed result of every cell. Written if `STRATA_AUTHORIZATION_WRITE=1`, compared
/// otherwise.
struct AuthorizationReport: Sendable {
    struct Row: Sendable {
        let name: String
        let cells: [Who: String]
    }

    private(set) var sections: [(title: String, rows: [Row])] = []

    mutating func add(_ title: String, _ rows: [Row]) { sections.append((title, rows)) }

    private static var path: URL {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root.appending(path: "docs/authorization.md")
    }

    func settle() throws {
        let empty = sections.flatMap(\.rows).filter { row in Who.allCases.contains { row.cells[$0]?.isEmpty ?? true } }
        #expect(empty.map(\.name) == [], "cells are empty")
        if ProcessInfo.processInfo.environment["STRATA_AUTHORIZATION_WRITE"] == "1" {
            try Data(text.utf8).write(to: Self.path)
            return
        }
        let committed = (try? String(contentsOf: Self.path, encoding: .utf8)) ?? ""
        let (old, new) = (Set(committed.split(separator: "\n")), Set(text.split(separator: "\n")))
        #expect(
            committed == text,
            """
            docs/authorization.md is not up to date; run this with STRATA_AUTHORIZATION_WRITE=1:
            \((new.subtracting(old).map { "+ \($0)" }.sorted() + old.subtracting(new).map { "- \($0)" }.sorted()).prefix(12).joined(separator: "\n"))
            """)
    }

    private var text: String {
        let rows = sections.flatMap(\.rows)
        var lines = [
            "# Authorization matrix", "",
            "The matrix shows the result of every request and packet of the Client API for every kind of caller, observed in a running system.",
            "`Tests/EndToEndTests/Security` writes it, and compares it in every run. To rewrite it:", "",
            "    STRATA_AUTHORIZATION_WRITE=1 make test ARGS=\"--filter AuthorizationTests\"", "",
            "A test fails if a route, socket method or kind of change has no row. \(rows.count) rows, "
                + "\(rows.count * Who.allCases.count) cells, none empty.", "",
            "**Scene.** The *sender* creates a conversation, sends a message with content, and removes the *former* participant. Then another",
            "user is added, metadata is set, and a *later* message with content is sent and read. *Never in it* is a user of the same app.",
            "The last six columns are callers without a session, and participants with unusable sessions.", "",
            "**Cells.** A cell has a status and the error object's `id`. *Shown*: the answer contains a text or id of the scene from before the",
            "removal. *Shown later too*: the answer also contains one from after it. *Never in it* and *other app* get the same answer about an",
            "object as about one that never existed, byte for byte. The former participant gets such answers about later objects.",
            "`SECURITY.md` lists the exceptions.", "",
        ]
        for section in sections {
            lines += ["## \(section.title)", ""]
            lines.append("| | " + Who.allCases.map(\.rawValue).joined(separator: " | ") + " |")
            lines.append("|---|" + Who.allCases.map { _ in "---|" }.joined())
            lines += section.rows.map { row in
                "| \(row.name) | " + Who.allCases.map { row.cells[$0] ?? "" }.joined(separator: " | ") + " |"
            }
            lines.append("")
        }
        return lines.joined(separator: "\n")
    }
}
