// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
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

    static let statement = WriteStatement(
        "identity.write",
        columns:
            "r.outcome, r.told_users, r.told_positions, r.told_at, \(IdentityRow.selected(from: "(r.profile)"))",
        function: "conversations.write_identity", arguments: ["$1", "$2", "$3", "$4::jsonb", "$5::jsonb", "$6::jsonb"],
        record: WriteStatement.RecordExpressions())

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .text(mode.rawValue), .jsonb(values),
            metadata.map { .jsonb($0) } ?? .null, .jsonb(keys),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let logEntries: UserLogEntries?
        /// The identity, for the outcomes `ok` and `none`.
        let identity: IdentityRow?
    }
}

/// Suspends a user, or lifts the suspension.
struct SuspendUser: WriteQuery {
    let app: AppID
    let user: UserID
    let isSuspended: Bool

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "user.suspend", columns: "r AS outcome", function: "conversations.suspend_user", arguments: ["$1", "$2", "$3"],
        record: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .bool(isSuspended)] }
}

/// Lists one page of a user's sessions.
struct ListSessions: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last session of the previous page. nil: the first page.
    let from: UUID?

    static let statement = Statement(
        "session.list", sql: "SELECT l.* FROM conversations.list_sessions($1, $2, $3::int8, $4) l", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }

    struct Row: Decodable {
        /// The outcome and the total, in the first row.
        let outcome: String?
        let total: Int64?
        /// A session, in each other row.
        let session: Session?

        struct Session: Decodable {
            let sessionID: UUID
            let createdAt: StrataModel.Timestamp
            let usedAt: StrataModel.Timestamp
            let expiresAt: StrataModel.Timestamp
        }
    }
}

struct EndUserSessions: WriteQuery {
    let app: AppID
    let user: UserID
    /// The session to end. nil: all of the user's sessions.
    let session: UUID?

    static let statement = WriteStatement(
        "session.end_of_user", columns: "r.outcome, r.digests", function: "conversations.end_user_sessions",
        arguments: ["$1", "$2", "$3"],
        record: WriteStatement.RecordExpressions())

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), Value(session)] }

    struct Row: Decodable {
        let outcome: String
        let digests: [[UInt8]]
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

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "app.set", columns: "r AS outcome", function: "conversations.set_app",
        arguments: ["$1", "$2", "$3::int8", "$4", "$5", "$6", "$7::int8"],
        record: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

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

    static let statement = Statement(
        "session.shorten", sql: "SELECT conversations.shorten_sessions($1, $2, $3::int8) AS last", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(after), .int8(limit)] }

    struct Row: Decodable {
        /// The last user of the batch. nil: no users are left.
        let last: String?
    }
}

/// Sets a user's unread count from outside of conversations.
struct SetBadge: WriteQuery {
    let app: AppID
    let user: UserID
    let count: Int64

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "badge.set", columns: "r AS outcome", function: "conversations.set_badge", arguments: ["$1", "$2", "$3::int8"],
        record: WriteStatement.RecordExpressions(outcome: "r"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(count)] }
}

/// Reads a user's unread counts. No row: the app has no such user.
struct GetBadge: PostgresQuery {
    let app: AppID
    let user: UserID

    static let statement = Statement(
        "badge.get",
        sql: """
            SELECT b.external_unread_count, b.unread_conversation_count, b.unread_message_count
            FROM conversations.get_badge($1, $2) b
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }

    struct Row: Decodable {
        let externalUnreadCount: Int64
        let unreadConversationCount: Int64
        let unreadMessageCount: Int64
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

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "push.notification", columns: "r AS outcome", function: "conversations.push_notification",
        arguments: ["$1", "$2::text[]", "$3::jsonb", "$4::jsonb", "$5::text[]::int8[]"],
        record: WriteStatement.RecordExpressions(outcome: "r"))

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

    static let statement = Statement(
        "push.badges",
        sql: """
            SELECT (SELECT b.badge FROM conversations.get_badge($1, u.id, false) b) AS badge
            FROM unnest($2::text[]) WITH ORDINALITY u(id, n)
            WHERE (SELECT 'Push' = ANY (webhooks.wanted($1))) ORDER BY u.n
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users.map(\.rawValue))] }

    struct Row: Decodable {
        /// The badge. nil: the app shows none, or has no such user.
        let badge: Int64?
    }
}

/// Erases a user's account and stores the pending erasure of the user's messages.
struct EraseUser: WriteQuery {
    let app: AppID
    let user: UserID

    static let statement = WriteStatement(
        "user.erase", columns: "r.*", function: "conversations.erase_user", arguments: ["$1", "$2"],
        record: WriteStatement.RecordExpressions(),
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }

    struct Row: Decodable {
        let outcome: String
        let logEntries: UserLogEntries?
    }
}

struct AppsWithErasures: PostgresQuery {
    /// The id after which the search begins. A random id reaches every app in the long run, even if there are more than
    /// `limit`.
    let after: AppID
    let limit: Int64

    typealias Row = AppsRow

    static let statement = Statement(
        "user.erase_some_apps", sql: "SELECT conversations.apps_with_erasures($1, $2) AS apps", isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(limit)] }
}

/// Continues the erasure of one user of an app.
struct EraseSome: PostgresQuery {
    let app: AppID
    /// The maximum number of messages whose parts are erased.
    let limit: Int64

    static let statement = Statement(
        "user.erase_some",
        sql: """
            SELECT e.outcome, e.user_id, e.position, e.created_at, e.message_count,
                \(MessageRow.selected(from: "e.message", prefix: "m_")), e.hidden_from
            FROM conversations.erase_some($1, $2::int8) e
            """)

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }

    struct Row: Decodable {
        /// The outcome, in the first row.
        let outcome: String?
        /// A change, in each other row.
        let change: Change?

        struct Change: Decodable {
            let userID: UserID
            let place: LogPlace
            let messageCount: Int64
            let message: MessageRow?
            /// The participants from whom a block hides the message. nil: none.
            let hiddenFrom: [UserID]?

            enum CodingKeys: String, CodingKey { case userID, place, messageCount, message = "m_", hiddenFrom }
        }
    }
}
