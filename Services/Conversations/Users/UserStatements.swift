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
    /// JSON object: properties by the names of their columns.
    let values: String
    /// The complete metadata. nil: unchanged, or empty in a new identity.
    let metadata: String?
    /// JSON object: keys of the metadata. null removes a key.
    let keys: String

    typealias Columns = IdentityWriteColumns

    static let statement = WriteStatement(
        "identity.write",
        columns:
            "r.outcome, r.told_users, r.told_positions, r.told_at, \(IdentityColumns.selected(from: "(r.profile)"))",
        function: "conversations.write_identity", arguments: ["$1", "$2", "$3", "$4::jsonb", "$5::jsonb", "$6::jsonb"],
        place: WriteStatement.RecordExpressions())

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .text(mode.rawValue), .jsonb(values),
            metadata.map { .jsonb($0) } ?? .null, .jsonb(keys),
        ]
    }
}

/// The result columns of ``WriteIdentity``.
struct IdentityWriteColumns: ColumnSet {
    let outcome: Column<String>
    let told: UserLogEntriesColumns
    /// The identity, for the outcomes `ok` and `none`.
    let identity: IdentityColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        told = try UserLogEntriesColumns(&names)
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
        place: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .bool(isSuspended)] }
}

/// Lists one page of a user's sessions.
struct ListSessions: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last session of the previous page. nil: the first page.
    let from: UUID?

    typealias Columns = SessionListColumns

    static let statement = Statement(
        "session.list", sql: "SELECT l.* FROM conversations.list_sessions($1, $2, $3::int8, $4) l", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }
}

/// The result columns of ``ListSessions``: the outcome and the total in the first row, then a session in each row.
struct SessionListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let id: Column<UUID>
    let createdAt: Column<PostgresTimestamp>
    let usedAt: Column<PostgresTimestamp>
    let expiresAt: Column<PostgresTimestamp>

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
    /// The session to end. nil: all of the user's sessions.
    let session: UUID?

    typealias Columns = EndedSessionsColumns

    static let statement = WriteStatement(
        "session.end_of_user", columns: "r.outcome, r.digests", function: "conversations.end_user_sessions",
        arguments: ["$1", "$2", "$3"],
        place: WriteStatement.RecordExpressions())

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), Value(session)] }
}

/// The result columns of ``EndUserSessions``.
struct EndedSessionsColumns: ColumnSet {
    let outcome: Column<String>
    let digests: Column<[[UInt8]]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        digests = try names.column("digests")
    }
}

/// Changes settings of an app. nil: unchanged.
struct SetApp: WriteQuery {
    let app: AppID
    /// The lifetime of unused sessions in seconds. 0: the service's setting.
    let sessionTTL: Int64?
    let badgeCounts: String?
    let badgeAnnouncements: Bool?
    let participantsAddedBy: String?
    let strangerAdditionsPerHour: Int64?

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "app.set", columns: "r AS outcome", function: "conversations.set_app",
        arguments: ["$1", "$2", "$3::int8", "$4", "$5", "$6", "$7::int8"],
        place: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .bool(sessionTTL != nil), Value(sessionTTL == 0 ? nil : sessionTTL),
            Value(badgeCounts),
            badgeAnnouncements.map { .bool($0) } ?? .null, Value(participantsAddedBy), Value(strangerAdditionsPerHour),
        ]
    }
}

/// Shortens the sessions of a batch of an app's users.
struct ShortenSessions: PostgresQuery {
    let app: AppID
    /// The last user of the previous batch. Empty: none.
    let after: String
    let limit: Int64

    typealias Columns = LastUserColumns

    static let statement = Statement(
        "session.shorten", sql: "SELECT conversations.shorten_sessions($1, $2, $3::int8) AS last", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(after), .int8(limit)] }
}

/// The result columns of ``ShortenSessions``.
struct LastUserColumns: ColumnSet {
    /// The last user of the batch. Null: no users are left.
    let last: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        last = try names.column("last")
    }
}

/// Sets a user's unread count from outside of conversations.
struct SetBadge: WriteQuery {
    let app: AppID
    let user: UserID
    let count: Int64

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "badge.set", columns: "r AS outcome", function: "conversations.set_badge", arguments: ["$1", "$2", "$3::int8"],
        place: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(count)] }
}

/// Reads a user's unread counts. No row: the app has no such user.
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

/// The result columns of ``GetBadge``.
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

/// Passes a notification for users to the webhooks that accept pushes.
struct PushNotification: WriteQuery {
    let app: AppID
    let users: [UserID]
    /// JSON object: the notification.
    let notification: String
    /// JSON object: overriding objects by user id.
    let overrides: String
    /// The badge of each user. nil: the app shows no badge. Empty: the badges are counted with the push.
    let badges: [Int64?]

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "push.notification", columns: "r AS outcome", function: "conversations.push_notification",
        arguments: ["$1", "$2::text[]", "$3::jsonb", "$4::jsonb", "$5::text[]::int8[]"],
        place: WriteStatement.RecordExpressions(outcome: "r"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .textArray(users.map(\.rawValue)), .jsonb(notification), .jsonb(overrides),
            badges.isEmpty ? .null : .textArray(badges.map { badge in badge.map { String($0) } }),
        ]
    }
}

/// Counts the badges of users, in the users' order. No rows: no webhook of the app accepts pushes.
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

/// The result columns of ``PushBadges``.
struct PushBadgeColumns: ColumnSet {
    /// The badge. Null: the app shows none, or has no such user.
    let badge: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { badge = try names.column("badge") }
}

/// Erases a user's account and stores the pending erasure of the user's messages.
struct EraseUser: WriteQuery {
    let app: AppID
    let user: UserID

    typealias Columns = UserEraseColumns

    static let statement = WriteStatement(
        "user.erase", columns: "r.*", function: "conversations.erase_user", arguments: ["$1", "$2"],
        place: WriteStatement.RecordExpressions(),
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }
}

/// The result columns of ``EraseUser``.
struct UserEraseColumns: ColumnSet {
    let outcome: Column<String>
    let told: UserLogEntriesColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        told = try UserLogEntriesColumns(&names)
    }
}

struct AppsWithErasures: PostgresQuery {
    /// The id after which the search begins. A random id reaches every app in the long run, even if there are more than
    /// `limit`.
    let after: AppID
    let limit: Int64

    typealias Columns = AppsColumns

    static let statement = Statement(
        "user.erase_some_apps", sql: "SELECT conversations.apps_with_erasures($1, $2) AS apps", isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(limit)] }
}

/// Continues the erasure of one user of an app.
struct EraseSome: PostgresQuery {
    let app: AppID
    /// The maximum number of messages whose parts are erased.
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

/// The result columns of ``EraseSome``: the outcome in the first row, then a change in each row.
struct EraseSomeColumns: ColumnSet {
    let outcome: Column<String>
    let user: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let message: MessageColumns
    /// The participants from whom a block hides the message. Null: none.
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
