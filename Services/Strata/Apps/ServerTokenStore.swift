// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Postgres

/// A token about to be registered, by which an app's own server authenticates. The text is in no database: only its SHA-256 is.
struct NewServerToken: Sendable {
    /// By which it is listed and revoked.
    let id = UUID()
    /// For people.
    let name: String
    /// What the server sends, `Authorization: Bearer <text>`: 256 random bits.
    let text = RandomToken.make()

    /// - Parameter name: for people, 1 to 128 characters.
    init(name: String) throws {
        let trimmed = name.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.unicodeScalars.count <= 128, !trimmed.contains("\0") else {
            throw CommandFailure(.usage, "--name must have 1 to 128 characters.")
        }
        self.name = trimmed
    }

    /// What the database keeps of it.
    var digest: [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }
}

extension AppStore {
    /// A token of an app's own server, as it is listed.
    struct ServerToken: Equatable, Sendable {
        let id: UUID
        let name: String
        let createdAt: Date
    }

    /// - Returns: false if there is no such app.
    func insert(_ token: NewServerToken, for app: UUID) async throws -> Bool {
        !(try await query(InsertServerToken(app: app, id: token.id, name: token.name, digest: token.digest))).isEmpty
    }

    /// The oldest first; nil if there is no such app.
    func serverTokens(of app: UUID) async throws -> [ServerToken]? {
        let rows = try await query(ListServerTokens(app: app))
        guard !rows.isEmpty else { return nil }
        let columns = try rows.columns(of: ListServerTokens.self)
        return try rows.compactMap { row in
            guard let id = try row[optional: columns.id], let name = try row[optional: columns.name],
                let createdAt = try row[optional: columns.createdAt]
            else { return nil }
            return ServerToken(id: id, name: name, createdAt: Date(timeIntervalSince1970: Double(createdAt.microseconds) / 1_000_000))
        }
    }

    /// The result of revoking a server token.
    struct Revocation: Equatable, Sendable {
        /// Nil: there was no such token any more.
        let name: String?
        /// The webhooks that are inactive since.
        let webhooks: [UUID]
    }

    /// Revokes a server token.
    /// - Parameter endsWebhooks: whether the webhooks that were registered with it become inactive, also if it was revoked before.
    /// - Returns: nil if there is neither such a token nor such a webhook.
    @discardableResult
    func revokeServerToken(_ id: UUID, endsWebhooks: Bool = false) async throws -> Revocation? {
        let rows = try await query(RevokeServerToken(id: id, endsWebhooks: endsWebhooks))
        guard let row = rows.first else { return nil }
        let columns = try rows.columns(of: RevokeServerToken.self)
        return Revocation(name: try row[optional: columns.name], webhooks: try row[columns.ended])
    }
}

/// Registers a server token. No row: there is no such app, or it is being deleted.
struct InsertServerToken: PostgresQuery {
    let app: UUID
    let id: UUID
    let name: String
    let digest: [UInt8]

    typealias Columns = ServerTokenInsertionColumns

    static let statement = Statement(
        "server_token.insert",
        sql: """
            INSERT INTO conversations.server_token (id, name, digest, app_id)
            SELECT $2, $3, $4, a.id FROM conversations.app a WHERE a.id = $1 AND a.deleting_since IS NULL RETURNING id
            """)

    var parameters: [Value] { [.uuid(app), .uuid(id), .text(name), .bytes(digest)] }
}

/// The server tokens of an app, the oldest first. No row: there is no such app.
struct ListServerTokens: PostgresQuery {
    let app: UUID

    typealias Columns = ServerTokenListColumns

    static let statement = Statement(
        "server_token.list",
        sql: """
            SELECT t.id, t.name, t.created_at FROM conversations.app a LEFT JOIN conversations.server_token t ON t.app_id = a.id
            WHERE a.id = $1 ORDER BY t.created_at, t.id
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

/// Revokes a server token. No row: there is neither such a token nor a webhook to end.
struct RevokeServerToken: PostgresQuery {
    let id: UUID
    let endsWebhooks: Bool

    typealias Columns = ServerTokenRevocationColumns

    static let statement = Statement("server_token.revoke", sql: "SELECT r.name, r.ended FROM webhooks.revoke_token($1, $2) r")

    var parameters: [Value] { [.uuid(id), .bool(endsWebhooks)] }
}
