// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// The result columns of ``ReadIdentities`` and ``EnsureIdentities``.
struct IdentitiesColumns: ColumnSet {
    let identity: IdentityColumns
    let isDoomed: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        identity = try IdentityColumns(&names)
        isDoomed = try names.column("is_doomed")
    }
}

/// The result columns of ``ReadAppKey``.
struct AppKeyColumns: ColumnSet {
    let provider: Column<UUID>
    let isSuspended: Column<Bool>
    let publicKey: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        provider = try names.column("provider_id")
        isSuspended = try names.column("suspended")
        publicKey = try names.column("public_key")
    }
}

/// The result columns of ``FindServerToken``.
struct ServerTokenColumns: ColumnSet {
    let isSuspended: Column<Bool>
    /// The id of the token. Null: no token has this digest.
    let token: Column<UUID>
    /// True if the token belongs to the app. Null if ``token`` is.
    let isOwn: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        isSuspended = try names.column("suspended")
        token = try names.column("token_id")
        isOwn = try names.column("is_own")
    }
}

/// The result columns of ``FindUser``.
struct UserFindColumns: ColumnSet {
    let identity: IdentityColumns
    let isSuspended: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        identity = try IdentityColumns(&names)
        isSuspended = try names.column("suspended")
    }
}

/// The result columns of ``OpenSession``.
struct SignInColumns: ColumnSet {
    let outcome: Column<String>
    let told: UserLogEntriesColumns
    let identity: IdentityColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        told = try UserLogEntriesColumns(&names)
        identity = try IdentityColumns(&names)
    }
}

/// The result columns of ``FindSession``.
struct SessionFindColumns: ColumnSet {
    let isDue: Column<Bool>
    let isSuspended: Column<Bool>
    private let app: Column<UUID>
    private let identity: BasicIdentityColumns
    private let expiresAt: Column<PostgresTimestamp>
    private let createdAt: Column<PostgresTimestamp>
    private let replayableSince: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        isDue = try names.column("is_due")
        isSuspended = try names.column("suspended")
        app = try names.column("app_id")
        identity = try BasicIdentityColumns(&names)
        expiresAt = try names.column("expires_at")
        createdAt = try names.column("created_at")
        replayableSince = try names.column("replayable_since")
    }

    func session(in row: Row) throws(PostgresError) -> Sessions.Session {
        Sessions.Session(
            app: AppID(rawValue: try row[app]), identity: try identity.identity(in: row),
            expiresAt: StrataModel.Timestamp(try row[expiresAt]),
            createdAt: StrataModel.Timestamp(try row[createdAt]),
            replayableSince: StrataModel.Timestamp(try row[replayableSince]))
    }
}

/// The result columns of ``CheckSessions``.
struct SessionsCheckColumns: ColumnSet {
    let digest: Column<[UInt8]>
    let isDue: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        digest = try names.column("digest")
        isDue = try names.column("is_due")
    }
}

/// The result columns of ``EndSession``.
struct SessionEndColumns: ColumnSet {
    let app: Column<UUID>
    let user: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        app = try names.column("app_id")
        user = try names.column("user_id")
    }
}

/// The result columns of ``ListFollowed``.
struct FollowedListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let identity: IdentityColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        identity = try IdentityColumns(&names)
    }
}

/// The result columns of statements that return users.
struct UserColumns: ColumnSet {
    let user: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        user = try names.column("user_id")
    }
}

/// The result columns of ``Follow``.
struct FollowColumns: ColumnSet {
    let followed: Column<String>
    /// The outcome in the first row, and the new log entry in the others.
    let entry: UserEntryColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        followed = try names.column("followed")
        entry = try UserEntryColumns(&names)
    }
}
