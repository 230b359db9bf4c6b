// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres

/// The result columns of ``ReadBaseline`` and its variants. The row without a conversation describes the user's own
/// log.
struct BaselineColumns: ColumnSet {
    let conversation: Column<UUID>
    let position: Column<Int64>
    let after: Column<Int64>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let messageCount: Column<Int64>
    let isParticipant: Column<Bool>
    let oldestAt: Column<PostgresTimestamp>
    let asOf: Column<PostgresTimestamp>
    let complete: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        conversation = try names.column("conversation_id")
        position = try names.column("position")
        after = try names.column("after")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        messageCount = try names.column("message_count")
        isParticipant = try names.column("is_participant")
        oldestAt = try names.column("oldest_at")
        asOf = try names.column("as_of")
        complete = try names.column("complete")
    }
}

/// The additional columns of ``ReplayBaseline``, in the row without a conversation.
struct EpochColumns: ColumnSet {
    let epoch: Column<String>
    let isCertain: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        epoch = try names.column("epoch")
        isCertain = try names.column("is_certain")
    }
}
