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
            "# Who may do what", "",
            "Every request and packet of the Client API, tried by all kinds of callers against a running system, and what came back: written by",
            "`Tests/EndToEndTests/Security`, and compared by every run of them. To write it anew:", "",
            "    STRATA_AUTHORIZATION_WRITE=1 make test ARGS=\"--filter AuthorizationTests\"", "",
            "A test fails if a route, a method of the socket or a kind of change exists that has no row here. \(rows.count) rows, "
                + "\(rows.count * Who.allCases.count) cells, none of them empty.", "",
            "**The scene.** The *sender* creates a conversation, sends a message with content in it, and removes the *former* participant. Then",
            "another user is added, metadata is set, and a *later* message with content is sent and read. *Never in it* is a user of the same app.",
            "The last six columns are callers without a session, and participants whose sessions are good for nothing.", "",
            "**The cells.** A status and the error object's `id`. *Shown*: the answer holds something of the scene, a text or an id, from before the",
            "removal; *shown later too*: also something from after it. Wherever *never in it* and *other app* are answered about an object, and the",
            "former participant about a later one, the answer was compared with the one about an object that never existed: but for the exceptions",
            "that `SECURITY.md` names, it is the same byte for byte.", "",
        ]
        for section in sections {
            lines += ["## \(section.title)", ""]
            lines.append("| | " + Who.allCases.map(\.rawValue).joined(separator: " | ") + " |")
            lines.append("|---|" + Who.allCases.map { _ in "---|" }.joined())
            lines += section.rows.map { row in "| \(row.name) | " + Who.allCases.map { row.cells[$0] ?? "" }.joined(separator: " | ") + " |" }
            lines.append("")
        }
        return lines.joined(separator: "\n")
    }
}
