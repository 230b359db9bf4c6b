// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

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
        discussion:
            "Only the token's digest is stored. Each server should have a token of its own, so that one can be revoked without the others."
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
    }

    func run() async throws {
        let app = try target.id
        guard let tokens = try await target.store.serverTokens(of: app) else { throw target.noSuchApp(app) }
        let rows = tokens.map {
            Row(id: $0.id.uuidString.lowercased(), name: $0.name, createdAt: $0.createdAt.formatted(.iso8601))
        }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say(
                "No token. Create one with: \(OwnCommand.name) app token create --name \"…\" \(target.app)")
        }
        for row in rows { Console.standard.say("\(row.id)  \(row.createdAt)  \(row.name)") }
    }
}

struct AppTokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a token of an app's own server: all gateways refuse it within five seconds.",
        discussion: """
            Webhooks that were registered with the token go on, unless --end-webhooks is given: it makes them inactive, also when the token was revoked before. \
            The app's own server sees why, and can activate those that it wants to keep; strata app webhook remove removes one for good.
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
        let store = AppStore(url: try await database.url(in: StrataHome()))
        guard let revoked = try await store.revokeServerToken(token, endsWebhooks: endWebhooks) else {
            throw CommandFailure(
                .usage, "The token \(title) does not exist. \(OwnCommand.name) app token list shows all of an app.")
        }
        Console.standard.say(revoked.name.map { "\(title)  \($0)  is revoked" } ?? "\(title)  was revoked before")
        for webhook in revoked.webhooks {
            Console.standard.say("webhook \(webhook.uuidString.lowercased())  is inactive")
        }
    }
}

struct AppTarget: ParsableArguments {
    @OptionGroup var database: DatabaseOption
    @Argument(help: "The app, as layer:///apps/production/<uuid> or as the UUID alone.")
    var app: String

    var id: UUID { get throws { try LayerID.app.parse(app, option: "The app") } }
    var store: AppStore { get async throws { AppStore(url: try await database.url(in: StrataHome())) } }

    func noSuchApp(_ id: UUID) -> CommandFailure {
        CommandFailure(.usage, "The app \(LayerID.app.text(id)) does not exist. \(OwnCommand.name) app list shows all.")
    }
}
