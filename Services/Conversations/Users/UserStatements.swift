// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

/// Creates, replaces, patches or deletes an identity.
struct WriteIdentity: WriteQuery {
    let app: AppID
    let user: UserID
    let mode: IdentityWrite.Mode
    /// An object of properties by the names of their columns.
    let values: String
    /// The whole metadata; nil: it stays, or is empty in a new identity.
    let metadata: String?
    /// An object of keys of the metadata; null removes one.
    let keys: String

    typealias Columns = IdentityWriteColumns

    static let statement = WriteStatement(
        "identity.write",
        columns: "r.outcome, r.told_users, r.told_positions, r.told_at, \(IdentityColumns.selected(from: "(r.profile)"))",
        function: "conversations.write_identity", arguments: ["$1", "$2", "$3", "$4::jsonb", "$5::jsonb", "$6::jsonb"], place: WriteStatement.Place())

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .text(mode.rawValue), .jsonb(values), metadata.map { .jsonb($0) } ?? .null, .jsonb(keys),
        ]
    }
}

/// Of ``WriteIdentity``.
struct IdentityWriteColumns: ColumnSet {
    let outcome: Column<String>
    let told: ToldUsersColumns
    /// Of the outcomes `ok` and `none`.
    let identity: IdentityColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        told = try ToldUsersColumns(&names)
        identity = try IdentityColumns(&names)
    }
}

/// Suspends a user, or lifts the suspension.
struct SuspendUser: WriteQuery {
    let app: AppID
    let user: UserID
    let isSuspended: Bool

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "user.suspend", columns: "r AS outcome", function: "conversations.suspend_user", arguments: ["$1", "$2", "$3"],
        place: WriteStatement.Place(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .bool(isSuspended)] }
}

/// A page of a user's sessions.
struct ListSessions: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last one of the page before.
    let from: UUID?

    typealias Columns = SessionListColumns

    static let statement = Statement(
        "session.list", sql: "SELECT l.* FROM conversations.list_sessions($1, $2, $3::int8, $4) l", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }
}

/// Of ``ListSessions``: the first row has the outcome and the total, the others have sessions.
struct SessionListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let id: Column<UUID>
    let createdAt: Column<Postgres.Timestamp>
    let usedAt: Column<Postgres.Timestamp>
    let expiresAt: Column<Postgres.Timestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        id = try names.column("session_id")
        createdAt = try names.column("created_at")
        usedAt = try names.column("used_at")
        expiresAt = try names.column("expires_at")
    }
}

struct EndUserSessions: WriteQuery {
    let app: AppID
    let user: UserID
    /// Nil: all.
    let session: UUID?

    typealias Columns = EndedSessionsColumns

    static let statement = WriteStatement(
        "session.end_of_user", columns: "r.outcome, r.digests", function: "conversations.end_user_sessions", arguments: ["$1", "$2", "$3"],
        place: WriteStatement.Place())

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), Value(session)] }
}

/// Of ``EndUserSessions``.
struct EndedSessionsColumns: ColumnSet {
    let outcome: Column<String>
    let digests: Column<[[UInt8]]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        digests = try names.column("digests")
    }
}

/// Settings of an app. What is nil stays.
struct SetApp: WriteQuery {
    let app: AppID
    /// Seconds; 0: as the service is set.
    let sessionTTL: Int64?
    let badgeCounts: String?
    let badgeAnnouncements: Bool?
    let participantsAddedBy: String?
    let strangerAdditionsPerHour: Int64?

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "app.set", columns: "r AS outcome", function: "conversations.set_app", arguments: ["$1", "$2", "$3::int8", "$4", "$5", "$6", "$7::int8"],
        place: WriteStatement.Place(outcome: "r"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .bool(sessionTTL != nil), Value(sessionTTL == 0 ? nil : sessionTTL), Value(badgeCounts),
            badgeAnnouncements.map { .bool($0) } ?? .null, Value(participantsAddedBy), Value(strangerAdditionsPerHour),
        ]
    }
}

/// Shortens the sessions of some users of an app.
struct ShortenSessions: PostgresQuery {
    let app: AppID
    /// The last user of the batch before; empty: none.
    let after: String
    /// The most users.
    let limit: Int64

    typealias Columns = LastUserColumns

    static let statement = Statement("session.shorten", sql: "SELECT conversations.shorten_sessions($1, $2, $3::int8) AS last", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(after), .int8(limit)] }
}

/// Of ``ShortenSessions``.
struct LastUserColumns: ColumnSet {
    /// Null: there is no user left.
    let last: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        last = try names.column("last")
    }
}

/// Sets what a user has not read outside of conversations.
struct SetBadge: WriteQuery {
    let app: AppID
    let user: UserID
    let count: Int64

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "badge.set", columns: "r AS outcome", function: "conversations.set_badge", arguments: ["$1", "$2", "$3::int8"],
        place: WriteStatement.Place(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(count)] }
}

/// What a user has not read. No row: the app has not heard of the user.
struct GetBadge: PostgresQuery {
    let app: AppID
    let user: UserID

    typealias Columns = BadgeColumns

    static let statement = Statement(
        "badge.get",
        sql: """
            SELECT b.external_unread_count, b.unread_conversation_count, b.unread_message_count FROM conversations.get_badge($1, $2) b
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }
}

/// Of ``GetBadge``.
struct BadgeColumns: ColumnSet {
    let external: Column<Int64>
    let conversations: Column<Int64>
    let messages: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        external = try names.column("external_unread_count")
        conversations = try names.column("unread_conversation_count")
        messages = try names.column("unread_message_count")
    }
}

/// Hands a notification for users to the webhooks that take pushes.
struct PushNotification: WriteQuery {
    let app: AppID
    let users: [UserID]
    /// JSON text of an object.
    let notification: String
    /// JSON text of an object of objects by user id.
    let overrides: String
    /// For the icon, of each user; nil where the app shows no number. Empty: they are counted with the push.
    let badges: [Int64?]

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "push.notification", columns: "r AS outcome", function: "conversations.push_notification",
        arguments: ["$1", "$2::text[]", "$3::jsonb", "$4::jsonb", "$5::text[]::int8[]"], place: WriteStatement.Place(outcome: "r"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .textArray(users.map(\.rawValue)), .jsonb(notification), .jsonb(overrides),
            badges.isEmpty ? .null : .textArray(badges.map { badge in badge.map { String($0) } }),
        ]
    }
}

/// The numbers for the icons of users, in their order. No rows: no webhook of the app takes pushes.
struct PushBadges: PostgresQuery {
    let app: AppID
    let users: ArraySlice<UserID>

    typealias Columns = PushBadgeColumns

    static let statement = Statement(
        "push.badges",
        sql: """
            SELECT (SELECT b.badge FROM conversations.get_badge($1, u.id, false) b) AS badge
            FROM unnest($2::text[]) WITH ORDINALITY u(id, n) WHERE (SELECT 'Push' = ANY (webhooks.wanted($1))) ORDER BY u.n
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users.map(\.rawValue))] }
}

/// Of ``PushBadges``.
struct PushBadgeColumns: ColumnSet {
    /// Null: the app shows none, or has not heard of the user.
    let badge: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { badge = try names.column("badge") }
}

/// Erases a user's account, and notes that the rest is owed.
struct EraseUser: WriteQuery {
    let app: AppID
    let user: UserID

    typealias Columns = UserEraseColumns

    static let statement = WriteStatement(
        "user.erase", columns: "r.*", function: "conversations.erase_user", arguments: ["$1", "$2"], place: WriteStatement.Place(),
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }
}

/// Of ``EraseUser``.
struct UserEraseColumns: ColumnSet {
    let outcome: Column<String>
    let told: ToldUsersColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        told = try ToldUsersColumns(&names)
    }
}

/// Apps with erasures that are due.
struct AppsWithErasures: PostgresQuery {
    /// The id behind which to look. A random one reaches every app, if there are more than fit.
    let after: AppID
    /// The most apps.
    let limit: Int64

    typealias Columns = AppsColumns

    static let statement = Statement(
        "user.erase_some_apps", sql: "SELECT conversations.apps_with_erasures($1, $2) AS apps", isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(limit)] }
}

/// Goes on with the erasure of one user of an app.
struct EraseSome: PostgresQuery {
    let app: AppID
    /// The most messages whose parts are taken.
    let limit: Int64

    typealias Columns = EraseSomeColumns

    static let statement = Statement(
        "user.erase_some",
        sql: """
            SELECT e.outcome, e.user_id, e.position, e.created_at, e.message_count,
                \(MessageColumns.selected(from: "e.message", prefix: "m_")), e.hidden_from
            FROM conversations.erase_some($1, $2::int8) e
            """)

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }
}

/// Of ``EraseSome``: the first row has the outcome, the others have changes.
struct EraseSomeColumns: ColumnSet {
    let outcome: Column<String>
    let user: Column<String>
    let position: Column<Int64>
    let createdAt: Column<Postgres.Timestamp>
    let messageCount: Column<Int64>
    let message: MessageColumns
    /// Null: no participant.
    let hiddenFrom: Column<[String]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        user = try names.column("user_id")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        message = try MessageColumns(&names, prefix: "m_")
        hiddenFrom = try names.column("hidden_from")
    }
}
