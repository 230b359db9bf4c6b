// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// Reads a report.
struct ReadReport: PostgresQuery {
    let report: Report
    var app: UUID?
    var user = ""
    var conversation: UUID?
    var after = ""
    var limit = Int64(Report.defaultLimit)
    /// JSON object: ``Retention``.
    let service: String

    static let statement = Statement(
        "report.read", sql: "SELECT conversations.report($1, $2, $3, $4, $5, $6::int8, $7::jsonb)::text AS document",
        isIdempotent: true)

    var parameters: [Value] {
        [
            .text(report.rawValue), Value(app), .text(user), Value(conversation), .text(after), .int8(limit),
            .jsonb(service),
        ]
    }

    struct Row: Decodable {
        /// nil: the report's object does not exist.
        let document: String?
    }
}

/// Creates an app with its first key and server token.
struct CreateApp: PostgresQuery {
    let app: AppID
    let name: String
    let provider: UUID
    let key: UUID
    let publicKey: String
    let token: UUID
    let digest: [UInt8]

    typealias Row = OutcomeRow

    static let statement = Statement(
        "app.create", sql: "SELECT conversations.create_app($1, $2, $3, $4, $5, $6, $7) AS outcome", isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(name), .uuid(provider), .uuid(key), .text(publicKey), .uuid(token),
            .bytes(digest),
        ]
    }
}

/// Suspends an app, or lifts the suspension. No row: the app does not exist.
struct SuspendApp: PostgresQuery {
    let app: AppID
    let isSuspended: Bool

    static let statement = Statement(
        "app.suspend", sql: "SELECT s.is_being_deleted FROM conversations.suspend_app($1, $2) s", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .bool(isSuspended)] }

    struct Row: Decodable {
        let isBeingDeleted: Bool
    }
}

/// Adds a public key to an app.
struct AddAppKey: PostgresQuery {
    let app: AppID
    let key: UUID
    let publicKey: String
    /// The maximum number of keys of an app.
    let most: Int64

    typealias Row = OutcomeRow

    static let statement = Statement(
        "app_key.add", sql: "SELECT conversations.add_app_key($1, $2, $3, $4::int8) AS outcome", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(key), .text(publicKey), .int8(most)] }
}

/// Removes a public key from an app.
struct RemoveAppKey: PostgresQuery {
    let app: AppID
    let key: UUID

    static let statement = Statement(
        "app_key.remove", sql: "SELECT conversations.remove_app_key($1, $2)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(key)] }
}

/// Creates a server token of an app.
struct CreateServerToken: PostgresQuery {
    let app: AppID
    let token: UUID
    let name: String
    let digest: [UInt8]
    /// The lifetime in seconds; nil: the token does not expire.
    let lifetime: Int64?

    typealias Row = OutcomeRow

    static let statement = Statement(
        "server_token.create",
        sql: "SELECT conversations.create_server_token($1, $2, $3, $4, $5::int8) AS outcome", isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .uuid(token), .text(name), .bytes(digest), Value(lifetime)]
    }
}

/// Revokes a server token of an app.
struct RevokeServerToken: PostgresQuery {
    let app: AppID
    let token: UUID

    static let statement = Statement(
        "server_token.revoke", sql: "SELECT conversations.revoke_server_token($1, $2)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(token)] }
}
