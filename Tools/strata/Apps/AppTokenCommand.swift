// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Crypto
import Foundation
import Postgres

struct AppTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Creates, lists and revokes the tokens by which an app's own server authenticates.",
        discussion: "The server sends one with each request to the Server API: Authorization: Bearer <token>.",
        subcommands: [AppTokenCreateCommand.self, AppTokenListCommand.self, AppTokenRevokeCommand.self])
}

struct AppTokenCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates a token for an app's own server, and shows it only once.",
        discussion: """
            Only the token's digest is stored. Each server should have a token of its own, so that one can be revoked \
            without the others.
            """
    )

    @OptionGroup var target: AppTarget
    @Option(help: "A description of the token, for people.")
    var name: String
    @Flag(help: "Print JSON.")
    var json = false

    struct Answer: Codable, Equatable, Sendable {
        var id: String
        var name: String
        var token: String
    }

    func run() async throws {
        let app = try target.id
        let token = try NewServerToken(name: name)
        guard try await target.store.insert(token, for: app) else { throw target.noSuchApp(app) }
        let id = token.id.uuidString.lowercased()
        if json { return try Console.standard.say(json: Answer(id: id, name: token.name, token: token.text)) }
        Console.standard.say(
            """
            token id          \(id)
            Server API token  \(token.text)

            The token is shown this once.
            """)
    }
}

struct AppTokenListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the tokens of an app's own server by id and name; the tokens themselves are not stored.")

    @OptionGroup var target: AppTarget
    @Flag(help: "Print JSON.")
    var json = false

    struct Row: Codable, Equatable, Sendable {
        var id: String
        var name: String
        var createdAt: String
        /// nil: the token does not expire.
        var expiresAt: String?

        init(_ token: AppStore.ServerToken) {
            (id, name) = (token.id.uuidString.lowercased(), token.name)
            createdAt = token.createdAt.formatted(.iso8601)
            expiresAt = token.expiresAt?.formatted(.iso8601)
        }

        var line: String { "\(id)  \(createdAt)  \(name)\(expiresAt.map { "  (expires \($0))" } ?? "")" }
    }

    func run() async throws {
        let app = try target.id
        guard let tokens = try await target.store.serverTokens(of: app) else { throw target.noSuchApp(app) }
        let rows = tokens.map { Row($0) }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say(
                "No token. Create one with: \(OwnCommand.name) app token create --name \"…\" \(target.app)")
        }
        for row in rows { Console.standard.say(row.line) }
    }
}

struct AppTokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a token of an app's own server: all gateways refuse it within five seconds.",
        discussion: """
            Webhooks that were registered with the token go on, unless --end-webhooks is given: it makes them \
            inactive, also when the token was revoked before. The app's own server sees why, and can activate those \
            that it wants to keep; strata app webhook remove removes one for good.
            """)

    @OptionGroup var database: DatabaseOption
    @Argument(help: "The id of the token, as strata app token list shows it; not the token itself.")
    var id: String
    @Flag(help: "Deactivate the webhooks that were registered with it.")
    var endWebhooks = false

    func run() async throws {
        guard let token = UUID(uuidString: id) else {
            throw CommandFailure(.usage, "The id of the token must be a UUID.")
        }
        let title = token.uuidString.lowercased()
        guard let revoked = try await revoke(token) else {
            throw CommandFailure(
                .usage, "The token \(title) does not exist. \(OwnCommand.name) app token list shows all of an app.")
        }
        Console.standard.say(revoked.name.map { "\(title)  \($0)  is revoked" } ?? "\(title)  was revoked before")
        for webhook in revoked.webhooks {
            Console.standard.say("webhook \(webhook.uuidString.lowercased())  is inactive")
        }
    }

    /// Revokes the token in the database that has it.
    private func revoke(_ token: UUID) async throws -> AppStore.Revocation? {
        for member in try await database.stores(in: StrataHome()).all {
            let revoked = try await member.store.revokeServerToken(token, endsWebhooks: endWebhooks)
            if let revoked { return revoked }
        }
        return nil
    }
}

struct AppTarget: ParsableArguments {
    @OptionGroup var database: DatabaseOption
    @Argument(help: "The app, as layer:///apps/production/<uuid> or as the UUID alone.")
    var app: String

    var id: UUID { get throws { try LayerID.app.parse(app, option: "The app") } }
    var store: AppStore { get async throws { try await database.stores(in: StrataHome()).store(of: id) } }

    func noSuchApp(_ id: UUID) -> CommandFailure {
        CommandFailure(.usage, "The app \(LayerID.app.text(id)) does not exist. \(OwnCommand.name) app list shows all.")
    }
}

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
        /// nil: the token does not expire.
        let expiresAt: Date?
    }

    /// Registers a server token. Returns false if the app does not exist, or is being deleted.
    func insert(_ token: NewServerToken, for app: UUID) async throws -> Bool {
        let query = InsertServerToken(app: app, id: token.id, name: token.name, digest: token.digest)
        return try await self.query(query).first?.outcome == "ok"
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

/// Registers a server token that does not expire.
struct InsertServerToken: PostgresQuery {
    let app: UUID
    let id: UUID
    let name: String
    let digest: [UInt8]

    typealias Row = OutcomeRow

    static let statement = Statement(
        "server_token.insert",
        sql: "SELECT conversations.create_server_token($1, $2, $3, $4, NULL) AS outcome", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .uuid(id), .text(name), .bytes(digest)] }
}

/// The server tokens of an app, oldest first. No row: the app does not exist.
struct ListServerTokens: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "server_token.list",
        sql: """
            SELECT t.id, t.name, t.created_at, t.expires_at
            FROM conversations.app a LEFT JOIN conversations.server_token t ON t.app_id = a.id
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
