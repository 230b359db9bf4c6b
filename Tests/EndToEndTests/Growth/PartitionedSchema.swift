// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import Schema

/// The schema for conversations distributed over several servers. It has the same migrations, but every table whose key
/// begins with a conversation's id is partitioned by the id's hash. A partition stands for a server.
enum PartitionedSchema {
    static let partitions = 4

    /// The partitioned tables, with their partition key. The log is partitioned by time, and each such part by the
    /// hash; here there is one part.
    static let tables = [
        "conversations.conversation": "id", "conversations.roster": "conversation_id",
        "conversations.participant": "conversation_id",
        "conversations.message": "conversation_id", "conversations.kept_receipts": "conversation_id",
        "conversations.kept_parts": "conversation_id",
        "conversations.receipt_block": "conversation_id", log: "conversation_id", "metadata.leaf": "conversation_id",
        "metadata.kept_tree": "conversation_id", "metadata.tree": "conversation_id",
        "metadata.kept_leaf": "conversation_id",
    ]

    private static let log = "conversations.change_rest"

    /// - Throws: ``Unchanged`` if the migrations differ from what this code expects.
    static func migrations() throws -> [Migration] {
        var found: Set<String> = []
        let migrations = Schema.migrations.map { migration in
            let sql = migration.sql.components(separatedBy: "\n\n").map { partition($0, &found) }
                .joined(separator: "\n\n")
            return Migration(version: migration.version, name: migration.name, sql: sql)
        }
        guard found.count == tables.count else {
            throw Unchanged(tables: tables.keys.filter { !found.contains($0) }.sorted())
        }
        return migrations
    }

    /// Partitions the tables of one or more statements without an empty line between them.
    private static func partition(_ text: String, _ found: inout Set<String>) -> String {
        if let rest = text.firstRange(of: " PARTITION OF conversations.change DEFAULT;") {
            found.insert(log)
            return text.replacingCharacters(
                in: rest, with: " PARTITION OF conversations.change DEFAULT" + division(of: log, by: "conversation_id"))
        }
        guard let table = text.firstMatch(of: /CREATE TABLE ([a-z_.]+) \(\n/), let key = tables[String(table.1)],
            let end = text.firstMatch(of: /\n\)( WITH \([^)]*\))?;/)
        else {
            // Omit the weekly partitions of the log, which would not be partitioned further.
            return text.replacingOccurrences(of: "FOR n IN 0..2 LOOP", with: "FOR n IN 1..0 LOOP")
        }
        found.insert(String(table.1))
        return text.replacingCharacters(
            in: end.range, with: "\n)" + division(of: String(table.1), by: key, options: end.1 ?? ""))
    }

    private static func division(of table: String, by key: String, options: Substring = "") -> String {
        let parts = (0..<partitions)
            .map {
                "CREATE TABLE \(table)_p\($0) PARTITION OF \(table) FOR VALUES WITH (MODULUS \(partitions), REMAINDER \($0))\(options);"
            }
        return " PARTITION BY HASH (\(key));\n" + parts.joined(separator: "\n")
    }

    struct Unchanged: Error {
        let tables: [String]
    }
}
