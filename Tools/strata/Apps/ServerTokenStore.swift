// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Postgres

/// A token to be registered, with which an app's own server authenticates. The database stores only the SHA-256 of its
/// text.
struct NewServerToken: Sendable {
    /// The id under which the token is listed and revoked.
    let id = UUID()
    /// The token's name for people.
    let name: String
    /// The text that the server sends in `Authorization: Bearer <text>`: 256 random bits.
    let text = RandomToken.make()

    /// - Parameter name: The name for people, 1 to 128 characters.
    init(name: String) throws {
        let trimmed = name.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.unicodeScalars.count <= 128, !trimmed.contains("\0") else {
            throw CommandFailure(.usage, "--name must have 1 to 128 characters.")
        }
        self.name = trimmed
    }

    /// The digest of the token, as the database stores it.
    var digest: [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }
}

extension AppStore {
    struct ServerToken: Decodable, Equatable {
        let id: UUID
        let name: String
        let createdAt: Date
    }

    /// Registers a server token. Returns false if the app does not exist.
    func insert(_ token: NewServerToken, for app: UUID) async throws -> Bool {
        !(try await query(InsertServerToken(app: app, id: token.id, name: token.name, digest: token.digest))).isEmpty
    }

    /// Returns the server tokens of an app, oldest first; nil if the app does not exist.
    func serverTokens(of app: UUID) async throws -> [ServerToken]? {
        let rows = try await query(ListServerTokens(app: app))
        return rows.isEmpty ? nil : rows.compactMap(\.token)
    }

    struct Revocation: Decodable, Equatable {
        /// The name of the token. nil: the token did not exist any more.
        let name: String?
        /// The webhooks that became inactive.
        let webhooks: [UUID]

        enum CodingKeys: String, CodingKey { case name, webhooks = "ended" }
    }

    /// Revokes a server token.
    /// - Parameter endsWebhooks: True if the webhooks that were registered with the token become inactive, even if it
    ///   was revoked before.
    /// - Returns: The result; nil if there is neither such a token nor such a webhook.
    @discardableResult
    func revokeServerToken(_ id: UUID, endsWebhooks: Bool = false) async throws -> Revocation? {
        try await query(RevokeServerToken(id: id, endsWebhooks: endsWebhooks)).first
    }
}

/// Registers a server token. No row: the app does not exist, or it is being deleted.
struct InsertServerToken: PostgresQuery {
    let app: UUID
    let id: UUID
    let name: String
    let digest: [UInt8]

    static let statement = Statement(
        "server_token.insert",
        sql: """
            INSERT INTO conversations.server_token (id, name, digest, app_id)
            SELECT $2, $3, $4, a.id FROM conversations.app a WHERE a.id = $1 AND a.deleting_since IS NULL RETURNING id
            """)

    var parameters: [Value] { [.uuid(app), .uuid(id), .text(name), .bytes(digest)] }

    struct Row: Decodable {
        let id: UUID
    }
}

/// The server tokens of an app, oldest first. No row: the app does not exist.
struct ListServerTokens: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "server_token.list",
        sql: """
            SELECT t.id, t.name, t.created_at FROM conversations.app a LEFT JOIN conversations.server_token t ON t.app_id = a.id
            WHERE a.id = $1 ORDER BY t.created_at, t.id
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        /// nil: the app has no token.
        let token: AppStore.ServerToken?
    }
}

/// Revokes a server token. No row: there is neither such a token nor a webhook to end.
struct RevokeServerToken: PostgresQuery {
    let id: UUID
    let endsWebhooks: Bool

    typealias Row = AppStore.Revocation

    static let statement = Statement(
        "server_token.revoke", sql: "SELECT r.name, r.ended FROM webhooks.revoke_token($1, $2) r")

    var parameters: [Value] { [.uuid(id), .bool(endsWebhooks)] }
}
