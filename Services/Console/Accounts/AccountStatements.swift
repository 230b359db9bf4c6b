// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import Postgres
import StrataModel

// The statements of the console. The functions of schema `console` (Shared/Schema) document their guarantees.

struct BeginSignIn: PostgresQuery {
    let name: String
    let address: String

    static let statement = Statement(
        "console.begin_sign_in",
        sql: "SELECT r.outcome, r.password_hash, r.retry_after FROM console.begin_sign_in($1, $2) r")

    var parameters: [Value] { [.text(name), .text(address)] }

    struct Row: Decodable {
        let outcome: String
        /// The hash to compare with; nil: no password is right.
        let passwordHash: String?
        /// The time to wait, in seconds, if there were too many attempts.
        let retryAfter: Int64?
    }
}

struct EndSignIn: PostgresQuery {
    let name: String
    let passwordHash: String
    let session: NewSession

    static let statement = Statement(
        "console.end_sign_in",
        sql: "SELECT r.outcome, r.role FROM console.end_sign_in($1, $2, $3, $4, $5) r")

    var parameters: [Value] {
        [
            .text(name), .text(passwordHash), .bytes(session.digest), .text(session.csrf), .text(session.address),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let role: String?
    }
}

struct RefuseSignIn: PostgresQuery {
    let name: String
    let address: String

    static let statement = Statement(
        "console.refuse_sign_in", sql: "SELECT r FROM console.refuse_sign_in($1, $2) r")

    var parameters: [Value] { [.text(name), .text(address)] }
}

struct UseLink: PostgresQuery {
    let link: [UInt8]
    let session: NewSession

    static let statement = Statement(
        "console.use_link", sql: "SELECT r.operator AS name, r.role FROM console.use_link($1, $2, $3, $4) r")

    var parameters: [Value] {
        [.bytes(link), .bytes(session.digest), .text(session.csrf), .text(session.address)]
    }

    struct Row: Decodable {
        let name: String?
        let role: String?
    }
}

struct UseSession: PostgresQuery {
    let session: [UInt8]
    /// False: only find out whether the session has ended.
    let isUsed: Bool

    static let statement = Statement(
        "console.use_session", sql: "SELECT r.operator AS name, r.role, r.csrf FROM console.use_session($1, $2) r",
        isIdempotent: true)

    var parameters: [Value] { [.bytes(session), .bool(isUsed)] }

    struct Row: Decodable {
        let name: String
        let role: String
        let csrf: String
    }
}

struct EndSession: PostgresQuery {
    let session: [UInt8]
    let address: String

    static let statement = Statement(
        "console.end_session", sql: "SELECT r FROM console.end_session($1, $2) r", isIdempotent: true)

    var parameters: [Value] { [.bytes(session), .text(address)] }
}

/// Deletes ended sessions, links, attempts and old entries of the audit log, up to a limit.
struct SweepAccounts: PostgresQuery {
    let limit: Int64

    static let statement = Statement(
        "console.sweep", sql: "SELECT r AS count FROM console.sweep($1::int8) r", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }

    struct Row: Decodable {
        let count: Int64
    }
}

/// Adds an entry to the audit log, without its outcome.
struct RecordChange: PostgresQuery {
    let name: String
    let address: String
    let change: AuditedChange

    static let statement = Statement(
        "console.record",
        sql: "SELECT r AS id FROM console.record($1, $2, $3, $4::uuid, $5, $6::jsonb, NULL) r")

    var parameters: [Value] {
        [
            .text(name), .text(address), .text(change.action), Value(change.app?.rawValue), .text(change.target),
            .jsonb(String(buffer: ConsoleJSON.encode(change.detail))),
        ]
    }

    struct Row: Decodable {
        let id: Int64
    }
}

struct FinishChange: PostgresQuery {
    let id: Int64
    let outcome: String

    static let statement = Statement(
        "console.finish", sql: "SELECT r FROM console.finish($1::int8, $2) r", isIdempotent: true)

    var parameters: [Value] { [.int8(id), .text(outcome)] }
}

/// Reads a page of the audit log as JSON.
struct ListAudit: PostgresQuery {
    /// The id before which the page begins.
    let before: Int64
    let limit: Int64

    static let statement = Statement(
        "console.list_audit",
        sql: """
            SELECT json_build_object(
                'items', coalesce(json_agg(json_build_object(
                    'id', a.id, 'at', to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                    'operator', a.operator, 'address', a.address, 'action', a.action, 'app', a.app_id,
                    'target', a.target, 'detail', a.detail, 'outcome', a.outcome) ORDER BY a.id DESC), '[]'),
                'next', CASE WHEN count(*) >= $2::int8 THEN min(a.id) END)::text AS json
            FROM console.list_audit($1::int8, $2::int8) a
            """, isIdempotent: true)

    var parameters: [Value] { [.int8(before), .int8(limit)] }

    struct Row: Decodable {
        let json: String
    }
}
