// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// An executed statement, at top level or inside a function, with the tables it touched. Parsed from PostgreSQL's
/// `auto_explain` log.
struct ExplainedStatement {
    let text: String
    /// The partitions of each table that were read or locked, without those that a condition on the key excluded.
    var partitions: [String: Set<String>] = [:]

    private init(_ plan: JSONValue) {
        text = (plan["Query Text"].string ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        note(plan["Plan"])
    }

    private mutating func note(_ node: JSONValue) {
        // A node with zero loops is a partition that was pruned.
        let isUsed = node["Actual Loops"].int ?? 0 > 0 && node["Node Type"].string != "ModifyTable"
        if isUsed, let schema = node["Schema"].string, let relation = node["Relation Name"].string,
            let table = relation.wholeMatch(of: /(.+)_p[0-9]+/)
        {
            partitions["\(schema).\(table.1)", default: []].insert(relation)
        }
        for child in node["Plans"].array ?? [] { note(child) }
    }

    static func all(inLog path: String) throws -> [ExplainedStatement] {
        var statements: [ExplainedStatement] = []
        var plan: [Substring]?
        func end() throws {
            guard let lines = plan else { return }
            plan = nil
            statements.append(ExplainedStatement(try JSONValue(parsing: Array(lines.joined(separator: "\n").utf8))))
        }
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            if line.first == "\t" {
                plan?.append(line.dropFirst())
            } else {
                try end()
                if line.hasSuffix(" plan:") { plan = [] }
            }
        }
        try end()
        return statements
    }
}
