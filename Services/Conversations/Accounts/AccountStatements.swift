// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// Those of the users who exist, each looked up by itself, and whether it is about to be removed since nothing refers to it.
struct ReadIdentities: PostgresQuery {
    let app: AppID
    let users: [String]

    typealias Columns = IdentitiesColumns

    static let statement = Statement(
        "identities.read",
        sql: """
            SELECT \(IdentityColumns.selected(from: "i")), i.is_doomed FROM unnest($2::text[]) w(id)
            CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x WHERE x.app_id = $1 AND x.user_id = w.id OFFSET 0) i
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users)] }
}

/// All of the users; who did not exist is created.
struct EnsureIdentities: PostgresQuery {
    let app: AppID
    let users: [String]

    typealias Columns = IdentitiesColumns

    static let statement = Statement(
        "identities.ensure",
        sql: "SELECT \(IdentityColumns.selected(from: "i")), i.is_doomed FROM conversations.ensure_identities($1, $2::text[]) i", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users)] }
}

/// The app, and the key if it is the app's.
struct ReadAppKey: PostgresQuery {
    let app: AppID
    let key: UUID

    typealias Columns = AppKeyColumns

    static let statement = Statement(
        "app.key",
        sql: """
            SELECT a.provider_id, a.suspended, k.public_key FROM conversations.app a
            LEFT JOIN conversations.app_key k ON k.app_id = a.id AND k.id = $2 WHERE a.id = $1
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(key)] }
}

/// The app, and the server token with this digest, which may be another app's.
struct FindServerToken: PostgresQuery {
    let app: AppID
    let digest: [UInt8]

    typealias Columns = ServerTokenColumns

    static let statement = Statement(
        "server_token.find",
        sql: """
            SELECT a.suspended, t.id AS token_id, t.app_id = a.id AS is_own FROM conversations.app a
            LEFT JOIN conversations.server_token t ON t.digest = $2 WHERE a.id = $1
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .bytes(digest)] }
}

/// The user, if the app has heard of them.
struct FindUser: PostgresQuery {
    let app: AppID
    let user: UserID

    typealias Columns = UserFindColumns

    static let statement = Statement(
        "user.find",
        sql: """
            SELECT \(IdentityColumns.selected(from: "i")), i.suspended FROM conversations.identity i WHERE i.app_id = $1 AND i.user_id = $2
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }
}

/// Uses up a nonce and opens a session.
struct OpenSession: PostgresQuery {
    let app: AppID
    let user: UserID
    let nonceDigest: [UInt8]
    let nonceExpiresAt: Postgres.Timestamp
    /// The new session's.
    let digest: [UInt8]
    /// In seconds.
    let lifetime: Int64
    let claims: String

    typealias Columns = SignInColumns

    static let statement = Statement(
        "session.sign_in",
        sql: """
            SELECT s.outcome, s.told_users, s.told_positions, s.told_at, \(IdentityColumns.selected(from: "(s.profile)"))
            FROM conversations.sign_in($1, $2, $3, $4, $5, $6::int8, $7::jsonb) s
            """)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .bytes(nonceDigest), .timestamp(nonceExpiresAt), .bytes(digest),
            .int8(lifetime), .jsonb(claims),
        ]
    }
}

/// What sessions of all apps have in common: for how long one lives that is not used, and when it is due to be renewed.
private enum SessionLifetime {
    /// In SQL, seconds; the app in the row `a`, the lifetime of apps that do not say it in the parameter.
    static func seconds(_ parameter: String) -> String { "coalesce(a.session_ttl, \(parameter)::int8)" }

    /// In SQL: a day after the last renewal, or when half of the time is over if that comes first; and if it would live for longer than it may now.
    static func isDue(_ parameter: String) -> String {
        let seconds = seconds(parameter)
        return """
            (s.expires_at < now() + greatest(\(seconds) - 86400, \(seconds) / 2) * interval '1 second'
                OR s.expires_at > now() + \(seconds) * interval '1 second')
            """
    }
}

/// A session that has not ended, of an app that is not suspended.
struct FindSession: PostgresQuery {
    let digest: [UInt8]
    /// Of a session that is not used, in seconds, where the app does not say it.
    let lifetime: Int64

    typealias Columns = SessionFindColumns

    static let statement = Statement(
        "session.find",
        sql: """
            SELECT s.app_id, s.expires_at, \(SessionLifetime.isDue("$2")) AS is_due, i.user_id, i.display_name, i.avatar_url, i.suspended,
                s.created_at, greatest(s.created_at, (SELECT b.at + conversations.margin() FROM conversations.log_begin b)) AS replayable_since
            FROM conversations.session s
            JOIN conversations.app a ON a.id = s.app_id AND NOT a.suspended
            JOIN conversations.identity i ON i.app_id = s.app_id AND i.user_id = s.user_id
            WHERE s.digest = $1 AND s.expires_at > now()
            """,
        isIdempotent: true)

    var parameters: [Value] { [.bytes(digest), .int8(lifetime)] }
}

/// The valid ones of these sessions.
struct CheckSessions: PostgresQuery {
    let digests: [[UInt8]]
    /// As in ``FindSession``.
    let lifetime: Int64

    typealias Columns = SessionsCheckColumns

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
}

/// Prolongs sessions that are used. Those that another call is prolonging are left to it.
struct RenewSessions: PostgresQuery {
    let digests: [[UInt8]]
    /// As in ``FindSession``.
    let lifetime: Int64

    typealias Columns = NoColumns

    static let statement = Statement(
        "session.renew",
        sql: """
            UPDATE conversations.session s SET expires_at = now() + \(SessionLifetime.seconds("$2")) * interval '1 second', used_at = now()
            FROM conversations.app a
            WHERE a.id = s.app_id AND s.digest IN (
                SELECT x.digest FROM conversations.session x WHERE x.digest = ANY ($1::bytea[]) AND x.expires_at > now() FOR UPDATE SKIP LOCKED)
            """,
        isIdempotent: true)

    var parameters: [Value] { [.bytesArray(digests), .int8(lifetime)] }
}

struct EndSession: PostgresQuery {
    let digest: [UInt8]

    typealias Columns = SessionEndColumns

    static let statement = Statement(
        "session.end", sql: "DELETE FROM conversations.session WHERE digest = $1 RETURNING app_id, user_id", isIdempotent: true)

    var parameters: [Value] { [.bytes(digest)] }
}

/// Removes nonces and sessions that have expired.
struct SweepAccounts: PostgresQuery {
    /// The most rows of each kind.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "accounts.sweep", sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_accounts($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Removes identities to which nothing refers.
struct SweepIdentities: PostgresQuery {
    /// The most rows.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "identities.sweep", sql: "SELECT s.looked_at, s.removed FROM conversations.sweep_identities($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}
