// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// Reads the users that exist, with one index lookup each, and whether each is about to be removed because nothing
/// refers to it.
struct ReadIdentities: PostgresQuery {
    let app: AppID
    let users: [String]

    static let statement = Statement(
        "identities.read",
        sql: """
            SELECT \(IdentityRow.selected(from: "i")), i.is_doomed FROM unnest($2::text[]) w(id)
            CROSS JOIN LATERAL (
                SELECT x.* FROM conversations.identity x WHERE x.app_id = $1 AND x.user_id = w.id OFFSET 0) i
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users)] }

    struct Row: Decodable {
        let identity: IdentityRow
        let isDoomed: Bool
    }
}

/// Reads all of the users, and creates those that do not exist.
struct EnsureIdentities: PostgresQuery {
    let app: AppID
    let users: [String]

    typealias Row = ReadIdentities.Row

    static let statement = Statement(
        "identities.ensure",
        sql: """
            SELECT \(IdentityRow.selected(from: "i")), i.is_doomed
            FROM conversations.ensure_identities($1, $2::text[]) i
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users)] }
}

/// Reads the app, and the key if it belongs to the app.
struct ReadAppKey: PostgresQuery {
    let app: AppID
    let key: UUID

    static let statement = Statement(
        "app.key",
        sql: """
            SELECT a.provider_id, a.suspended, k.public_key FROM conversations.app a
            LEFT JOIN conversations.app_key k ON k.app_id = a.id AND k.id = $2 WHERE a.id = $1
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(key)] }

    struct Row: Decodable {
        let providerID: UUID
        let suspended: Bool
        let publicKey: String?
    }
}

/// Reads the app and the unexpired server token with this digest, which may belong to another app.
struct FindServerToken: PostgresQuery {
    let app: AppID
    let digest: [UInt8]

    static let statement = Statement(
        "server_token.find",
        sql: """
            SELECT a.suspended, t.id AS token_id, t.app_id = a.id AS is_own FROM conversations.app a
            LEFT JOIN conversations.server_token t ON t.digest = $2 AND (t.expires_at > now()) IS NOT FALSE
            WHERE a.id = $1
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .bytes(digest)] }

    struct Row: Decodable {
        let suspended: Bool
        /// The id of the token. nil: no valid token has this digest.
        let tokenID: UUID?
        /// True if the token belongs to the app. nil if ``tokenID`` is.
        let isOwn: Bool?
    }
}

/// Reads a user. No row: the app has no such identity.
struct FindUser: PostgresQuery {
    let app: AppID
    let user: UserID

    static let statement = Statement(
        "user.find",
        sql: """
            SELECT \(IdentityRow.selected(from: "i")), i.suspended FROM conversations.identity i
            WHERE i.app_id = $1 AND i.user_id = $2
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }

    struct Row: Decodable {
        let identity: IdentityRow
        let suspended: Bool
    }
}

/// Marks a nonce as used and opens a session.
struct OpenSession: PostgresQuery {
    let app: AppID
    let user: UserID
    let nonceDigest: [UInt8]
    let nonceExpiresAt: PostgresTimestamp
    /// The SHA-256 of the new session's token.
    let digest: [UInt8]
    /// The lifetime of the unused session in seconds, if the app does not define one.
    let lifetime: Int64
    let claims: String

    static let statement = Statement(
        "session.sign_in",
        sql: """
            SELECT s.outcome, s.told_users, s.told_positions, s.told_at, \(IdentityRow.selected(from: "(s.profile)"))
            FROM conversations.sign_in($1, $2, $3, $4, $5, $6::int8, $7::jsonb) s
            """)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .bytes(nonceDigest), .timestamp(nonceExpiresAt), .bytes(digest),
            .int8(lifetime), .jsonb(claims),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let logEntries: UserLogEntries?
        /// The identity, if a session was opened.
        let identity: IdentityRow?
    }
}

/// SQL expressions for the lifetime of an unused session and for the time of its renewal.
private enum SessionLifetime {
    /// Returns the lifetime in seconds: that of the app in the row `a`, or the parameter if the app defines none.
    static func seconds(_ parameter: String) -> String { "coalesce(a.session_ttl, \(parameter)::int8)" }

    /// Returns a condition that is true if the session is to be renewed: a day after the last renewal, or after half of
    /// its lifetime if that is earlier. It is also true if the session ends later than its lifetime now allows.
    static func isDue(_ parameter: String) -> String {
        let seconds = seconds(parameter)
        return """
            (s.expires_at < now() + greatest(\(seconds) - 86400, \(seconds) / 2) * interval '1 second'
                OR s.expires_at > now() + \(seconds) * interval '1 second')
            """
    }
}

/// Finds a session that has not ended, of an app that is not suspended.
struct FindSession: PostgresQuery {
    let digest: [UInt8]
    /// The lifetime of an unused session in seconds, if the app does not define one.
    let lifetime: Int64

    static let statement = Statement(
        "session.find",
        sql: """
            SELECT s.app_id, s.expires_at, \(SessionLifetime.isDue("$2")) AS is_due, i.user_id, i.display_name,
                i.avatar_url, i.suspended, s.created_at,
                greatest(s.created_at, (SELECT b.at + conversations.margin() FROM conversations.log_begin b))
                    AS replayable_since
            FROM conversations.session s
            JOIN conversations.app a ON a.id = s.app_id AND NOT a.suspended
            JOIN conversations.identity i ON i.app_id = s.app_id AND i.user_id = s.user_id
            WHERE s.digest = $1 AND s.expires_at > now()
            """,
        isIdempotent: true)

    var parameters: [Value] { [.bytes(digest), .int8(lifetime)] }

    struct Row: Decodable {
        let isDue: Bool
        let suspended: Bool
        private let appID: AppID
        private let identity: BasicIdentityRow
        private let expiresAt: StrataModel.Timestamp
        private let createdAt: StrataModel.Timestamp
        private let replayableSince: StrataModel.Timestamp

        var session: Sessions.Session {
            Sessions.Session(
                app: appID, identity: identity.identity, expiresAt: expiresAt, createdAt: createdAt,
                replayableSince: replayableSince)
        }
    }
}

/// Finds the digests that belong to valid sessions.
struct CheckSessions: PostgresQuery {
    let digests: [[UInt8]]
    /// The lifetime of an unused session in seconds, if the app does not define one.
    let lifetime: Int64

    static let statement = Statement(
        "session.check",
        sql: """
            SELECT s.digest, \(SessionLifetime.isDue("$2")) AS is_due FROM conversations.session s
            JOIN conversations.app a ON a.id = s.app_id AND NOT a.suspended
            JOIN conversations.identity i ON i.app_id = s.app_id AND i.user_id = s.user_id AND NOT i.suspended
            WHERE s.digest = ANY ($1::bytea[]) AND s.expires_at > now()
            """,
        isIdempotent: true)

    var parameters: [Value] { [.bytesArray(digests), .int8(lifetime)] }

    struct Row: Decodable {
        let digest: [UInt8]
        let isDue: Bool
    }
}

/// Prolongs sessions that are in use. It skips sessions that another call is prolonging.
struct RenewSessions: PostgresQuery {
    let digests: [[UInt8]]
    /// The lifetime of an unused session in seconds, if the app does not define one.
    let lifetime: Int64

    static let statement = Statement(
        "session.renew",
        sql: """
            UPDATE conversations.session s
            SET expires_at = now() + \(SessionLifetime.seconds("$2")) * interval '1 second', used_at = now()
            FROM conversations.app a
            WHERE a.id = s.app_id AND s.digest IN (
                SELECT x.digest FROM conversations.session x
                WHERE x.digest = ANY ($1::bytea[]) AND x.expires_at > now() FOR UPDATE SKIP LOCKED)
            """,
        isIdempotent: true)

    var parameters: [Value] { [.bytesArray(digests), .int8(lifetime)] }
}

struct EndSession: PostgresQuery {
    let digest: [UInt8]

    static let statement = Statement(
        "session.end", sql: "DELETE FROM conversations.session WHERE digest = $1 RETURNING app_id, user_id",
        isIdempotent: true)

    var parameters: [Value] { [.bytes(digest)] }

    struct Row: Decodable {
        let appID: AppID
        let userID: UserID
    }
}

/// Deletes expired nonces and sessions.
struct SweepAccounts: PostgresQuery {
    /// The maximum number of deleted rows of each kind.
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "accounts.sweep", sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_accounts($1::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Deletes identities to which nothing refers.
struct SweepIdentities: PostgresQuery {
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "identities.sweep", sql: "SELECT s.looked_at, s.removed FROM conversations.sweep_identities($1::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}
