// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres

/// The result columns of ``ListApps``.
struct AppListColumns: ColumnSet {
    let id: Column<UUID>
    let providerID: Column<UUID>
    let keyIDs: Column<[UUID]>
    let name: Column<String>
    let isSuspended: Column<Bool>
    let isBeingDeleted: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        id = try names.column("id")
        providerID = try names.column("provider_id")
        keyIDs = try names.column("key_ids")
        name = try names.column("name")
        isSuspended = try names.column("suspended")
        isBeingDeleted = try names.column("is_being_deleted")
    }
}

/// The result columns of ``SuspendApp``.
struct AppSuspensionColumns: ColumnSet {
    let name: Column<String>
    let isBeingDeleted: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        name = try names.column("name")
        isBeingDeleted = try names.column("is_being_deleted")
    }
}

/// The result columns of ``ListServerTokens``. All are null if the app has no token.
struct ServerTokenListColumns: ColumnSet {
    let id: Column<UUID>
    let name: Column<String>
    let createdAt: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        id = try names.column("id")
        name = try names.column("name")
        createdAt = try names.column("created_at")
    }
}

/// The result columns of ``InsertServerToken``.
struct ServerTokenInsertionColumns: ColumnSet {
    let id: Column<UUID>

    init(_ names: inout ColumnNames) throws(PostgresError) { id = try names.column("id") }
}

/// The result columns of ``RevokeServerToken``.
struct ServerTokenRevocationColumns: ColumnSet {
    let name: Column<String>
    let ended: Column<[UUID]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        name = try names.column("name")
        ended = try names.column("ended")
    }
}

/// The result columns of ``ReadAppExtent``.
struct AppExtentColumns: ColumnSet {
    let name: Column<String>
    private let conversations: Column<Int64>
    private let messages: Column<Int64>
    private let users: Column<Int64>
    private let sessions: Column<Int64>
    private let files: Column<Int64>
    private let fileBytes: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        name = try names.column("name")
        conversations = try names.column("conversations")
        messages = try names.column("messages")
        users = try names.column("users")
        sessions = try names.column("sessions")
        files = try names.column("files")
        fileBytes = try names.column("file_bytes")
    }

    func extent(in row: Row) throws(PostgresError) -> AppDeletion.Extent {
        AppDeletion.Extent(
            conversations: try row[conversations], messages: try row[messages], users: try row[users],
            sessions: try row[sessions],
            files: try row[files], fileBytes: try row[fileBytes])
    }
}

/// The result columns of ``ReadAppDeletionAge``.
struct AppDeletionAgeColumns: ColumnSet {
    let milliseconds: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        milliseconds = try names.column("milliseconds")
    }
}

/// The result columns of ``ListAppDeletionParts``.
struct AppDeletionPartsColumns: ColumnSet {
    let part: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        part = try names.column("part")
    }
}

/// The result columns of ``DeleteAppRows``.
struct AppDeletionStepColumns: ColumnSet {
    let removed: Column<Int64>
    /// The next block; null if the part is complete.
    let nextBlock: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        removed = try names.column("removed")
        nextBlock = try names.column("next_block")
    }
}

/// The result columns of ``EndAppDeletion``.
struct AppDeletionEndColumns: ColumnSet {
    let isDone: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        isDone = try names.column("is_done")
    }
}
