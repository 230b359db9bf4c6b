// SPDX-License-Identifier: Apache-2.0
import Postgres

extension Statement {
    /// $1 app, $2 user ids. Those who exist, each looked up by itself, and whether it is about to be removed since nothing refers to it.
    static let identitiesRead = Statement(
        "identities.read",
        sql: """
            SELECT \(IdentityColumns.selected(from: "i")), i.is_doomed FROM unnest($2::text[]) w(id)
            CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x WHERE x.app_id = $1 AND x.user_id = w.id OFFSET 0) i
            """,
        isIdempotent: true)

    /// $1 app, $2 user ids. All of them; who did not exist is created.
    static let identitiesEnsure = Statement(
        "identities.ensure",
        sql: "SELECT \(IdentityColumns.selected(from: "i")), i.is_doomed FROM conversations.ensure_identities($1, $2::text[]) i", isIdempotent: true)

    /// $1 app, $2 key id. The app, and the key if it is the app's.
    static let appKeyRead = Statement(
        "app.key",
        sql: """
            SELECT a.provider_id, a.suspended, k.public_key FROM conversations.app a
            LEFT JOIN conversations.app_key k ON k.app_id = a.id AND k.id = $2 WHERE a.id = $1
            """,
        isIdempotent: true)

    /// $1 app, $2 digest. The app, and the token with this digest, which may be another app's.
    static let serverTokenFind = Statement(
        "server_token.find",
        sql: """
            SELECT a.suspended, t.id AS token_id, t.app_id = a.id AS is_own FROM conversations.app a
            LEFT JOIN conversations.server_token t ON t.digest = $2 WHERE a.id = $1
            """,
        isIdempotent: true)

    /// $1 app, $2 user id. The user, if there is one.
    static let userFind = Statement(
        "user.find",
        sql: """
            SELECT \(IdentityColumns.selected(from: "i")), i.suspended FROM conversations.identity i WHERE i.app_id = $1 AND i.user_id = $2
            """,
        isIdempotent: true)

    /// $1 app, $2 user, $3 and $4 nonce's digest and expiry, $5 and $6 session's digest and lifetime in seconds, $7 claims.
    static let signIn = Statement(
        "session.sign_in",
        sql: """
            SELECT s.outcome, s.told_users, s.told_positions, s.told_at, \(IdentityColumns.selected(from: "(s.profile)"))
            FROM conversations.sign_in($1, $2, $3, $4, $5, $6::int8, $7::jsonb) s
            """)

    /// $1 digest. A valid session; $2 seconds it must have left, or it is due to be renewed.
    static let sessionFind = Statement(
        "session.find",
        sql: """
            SELECT s.app_id, s.expires_at, s.expires_at < now() + $2::int8 * interval '1 second' AS is_due, i.user_id, i.display_name, i.avatar_url,
                s.created_at, greatest(s.created_at, (SELECT b.at + conversations.margin() FROM conversations.log_begin b)) AS replayable_since
            FROM conversations.session s
            JOIN conversations.app a ON a.id = s.app_id AND NOT a.suspended
            JOIN conversations.identity i ON i.app_id = s.app_id AND i.user_id = s.user_id AND NOT i.suspended
            WHERE s.digest = $1 AND s.expires_at > now()
            """,
        isIdempotent: true)

    /// $1 digests, $2 seconds a session must have left, or it is due to be renewed. The valid ones.
    static let sessionsCheck = Statement(
        "session.check",
        sql: """
            SELECT s.digest, s.expires_at < now() + $2::int8 * interval '1 second' AS is_due FROM conversations.session s
            JOIN conversations.app a ON a.id = s.app_id AND NOT a.suspended
            JOIN conversations.identity i ON i.app_id = s.app_id AND i.user_id = s.user_id AND NOT i.suspended
            WHERE s.digest = ANY ($1::bytea[]) AND s.expires_at > now()
            """,
        isIdempotent: true)

    /// $1 digests, $2 lifetime in seconds. A session that another transaction is renewing or ending at this moment is left to that transaction.
    static let sessionsRenew = Statement(
        "session.renew",
        sql: """
            UPDATE conversations.session SET expires_at = now() + $2::int8 * interval '1 second' WHERE digest IN (
                SELECT digest FROM conversations.session WHERE digest = ANY ($1::bytea[]) AND expires_at > now() FOR UPDATE SKIP LOCKED)
            """,
        isIdempotent: true)

    /// $1 digest.
    static let sessionEnd = Statement(
        "session.end", sql: "DELETE FROM conversations.session WHERE digest = $1 RETURNING app_id, user_id", isIdempotent: true)

    /// $1 most rows of each kind.
    static let accountsSweep = Statement(
        "accounts.sweep", sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_accounts($1::int8) s", isIdempotent: true)

    /// $1 most rows.
    static let identitiesSweep = Statement(
        "identities.sweep", sql: "SELECT s.looked_at, s.removed FROM conversations.sweep_identities($1::int8) s", isIdempotent: true)
}
