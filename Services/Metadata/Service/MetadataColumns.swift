// SPDX-License-Identifier: Apache-2.0

import Postgres

/// The columns of ``PatchMetadata``.
struct PatchColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let effects: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        effects = try names.column("effects")
    }
}
