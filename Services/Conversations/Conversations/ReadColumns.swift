// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres

// Result columns of statements about conversations and messages. The functions in the schema `conversations`
// (Shared/Schema) define their meaning.

/// The result columns of ``ListConversations``.
struct ConversationListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let later: Column<UUID>
    let view: ViewColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        later = try names.column("later")
        view = try ViewColumns(&names)
    }
}

/// The result columns of ``LoadConversations``.
struct ConversationLoadColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let isCut: Column<Bool>
    let view: ViewColumns
    let message: MessageColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        isCut = try names.column("is_cut")
        view = try ViewColumns(&names)
        message = try MessageColumns(&names, prefix: "m_")
    }
}

/// The result columns of ``GetConversations``.
struct ConversationsGetColumns: ColumnSet {
    let covered: Column<Int64>
    let view: ViewColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        covered = try names.column("covered")
        view = try ViewColumns(&names)
    }
}

/// The result columns of ``ListMessages``.
struct MessageListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let lastID: Column<UUID>
    let message: MessageColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        lastID = try names.column("last_id")
        message = try MessageColumns(&names)
    }
}

/// The result columns of ``LocateMessages``.
struct MessagesLocateColumns: ColumnSet {
    let number: Column<Int64>
    let conversation: Column<UUID>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        number = try names.column("number")
        conversation = try names.column("conversation_id")
    }
}
