// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Postgres

struct AppWebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Lists and removes the webhooks that an app's own server has registered.",
        subcommands: [AppWebhookListCommand.self, AppWebhookRemoveCommand.self])
}

struct AppWebhookListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract:
            "Lists the webhooks of an app, each with its status, its backlog, and the token that registered it."
    )

    @OptionGroup var target: AppTarget
    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let app = try target.id
        guard let webhooks = try await target.store.webhooks(of: app) else { throw target.noSuchApp(app) }
        if json { return try Console.standard.say(json: webhooks) }
        guard !webhooks.isEmpty else {
            return Console.standard.say("No webhook. The app's own server registers them: docs/server-api.md.")
        }
        for webhook in webhooks { Console.standard.say(webhook.line) }
    }
}

struct AppWebhookRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes a webhook and its backlog. Within seconds no more events are recorded for it.")

    @Argument(help: "The id of the webhook, as the list shows it.")
    var id: String
    @OptionGroup var target: AppTarget

    func run() async throws {
        guard let webhook = UUID(uuidString: id) else {
            throw CommandFailure(.usage, "The id of the webhook must be a UUID.")
        }
        let app = try target.id
        guard try await target.store.removeWebhook(webhook, of: app) else {
            throw CommandFailure(
                .usage, "The app has no webhook with this id. \(OwnCommand.name) app webhook list shows all.")
        }
        Console.standard.say("\(webhook.uuidString.lowercased())  is removed")
    }
}

extension AppStore {
    struct Webhook: Codable, Equatable, Sendable {
        let id: String
        let version: String
        let targetURL: String
        let status: String
        /// The reason of the status; nil unless the webhook is inactive.
        let statusReason: String?
        let waitingBytes: Int64
        /// The server token that registered the webhook. It may have been revoked since. nil: unknown.
        let tokenID: String?

        var line: String {
            let state = status.padding(toLength: 10, withPad: " ", startingAt: 0)
            return
                "\(id)  \(version)  \(state)  \(waitingBytes) bytes wait  token \(tokenID ?? "unknown")  \(targetURL)"
                + (statusReason.map { "  (\($0))" } ?? "")
        }
    }

    /// Returns the webhooks of an app in the order of their registration; nil if the app does not exist.
    func webhooks(of app: UUID) async throws -> [Webhook]? {
        let rows = try await query(ListAppWebhooks(app: app))
        return rows.isEmpty ? nil : rows.compactMap { $0.hook?.webhook }
    }

    /// Removes a webhook. Returns false if the app has no such webhook.
    func removeWebhook(_ id: UUID, of app: UUID) async throws -> Bool {
        try await !query(RemoveAppWebhook(app: app, id: id)).isEmpty
    }
}

/// The webhooks of an app. No row: the app does not exist.
struct ListAppWebhooks: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_webhook.list",
        sql: """
            SELECT h.id, h.version, h.target_url, h.status, h.status_reason, h.token_id,
                coalesce((SELECT sum(l.bytes) FROM webhooks.lane l WHERE l.hook_id = h.id), 0)::int8 AS waiting_bytes
            FROM conversations.app a LEFT JOIN webhooks.hook h ON h.app_id = a.id
            WHERE a.id = $1 ORDER BY h.created_at, h.id
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        /// nil: the app has no webhook.
        let hook: Hook?

        struct Hook: Decodable {
            let id: UUID
            let version: String
            let targetURL: String
            let status: String
            let statusReason: String?
            let waitingBytes: Int64
            let tokenID: UUID?

            var webhook: AppStore.Webhook {
                AppStore.Webhook(
                    id: id.uuidString.lowercased(), version: version, targetURL: targetURL, status: status,
                    statusReason: statusReason, waitingBytes: waitingBytes, tokenID: tokenID?.uuidString.lowercased())
            }
        }
    }
}

/// Removes a webhook. No row: the app has no webhook with this id.
struct RemoveAppWebhook: PostgresQuery {
    let app: UUID
    let id: UUID

    static let statement = Statement(
        "app_webhook.remove", sql: "DELETE FROM webhooks.hook h WHERE h.app_id = $1 AND h.id = $2 RETURNING h.id")

    var parameters: [Value] { [.uuid(app), .uuid(id)] }

    struct Row: Decodable {
        let id: UUID
    }
}
