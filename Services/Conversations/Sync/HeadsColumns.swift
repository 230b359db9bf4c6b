// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres

/// The result columns of ``ReadHeads``.
struct HeadsColumns: ColumnSet {
    let entry: Column<Int64>
    let app: Column<UUID>
    let user: Column<String>
    let conversation: Column<UUID>
    let position: Column<Int64>
    let asOf: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        entry = try names.column("entry")
        app = try names.column("app_id")
        user = try names.column("user_id")
        conversation = try names.column("conversation_id")
        position = try names.column("position")
        asOf = try names.column("as_of")
    }
}
