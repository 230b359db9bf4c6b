// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import StrataModel
import Testing

@testable import Webhooks

/// Server tokens that register hooks, against PostgreSQL.
@Suite("tokens and webhooks")
struct TokenTests {
    private func token(_ database: HookDatabase) async throws -> UUID {
        let token = UUID()
        try await database.execute(
            """
            INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(database.app)', 'app', gen_random_uuid()) ON CONFLICT (id) DO NOTHING;
            INSERT INTO conversations.server_token (digest, app_id, id) VALUES (sha256('\(token)'), '\(database.app)', '\(token)');
            """)
        return token
    }

    private func register(with token: UUID?, _ database: HookDatabase) async throws(Failure) -> WebhookID {
        let webhook = Webhook(
            id: .random(), app: database.app, version: .v3, targetURL: "https://example.org/",
            events: ["Message.created"], config: [:],
            status: .unverified, statusReason: nil, createdAt: StrataModel.Timestamp(microseconds: 0))
        let query = CreateHook(
            webhook: webhook, sealedSecret: [1], kinds: [.messageCreated], config: "{}", limit: 20, lease: 60_000,
            token: token)
        return try await database.store.create(query, deadline: HookDatabase.soon).webhook.id
    }

    private func status(_ hook: WebhookID, _ database: HookDatabase) async throws -> String {
        try #require(
            try await database.texts(
                "SELECT concat(status, ' ', status_reason) FROM webhooks.hook WHERE id = '\(hook)'"
            )
            .first)
    }

    /// Revokes a token as the operator does.
    /// - Returns: True or false as text, for whether the token existed, and the hooks that ended; nil: neither.
    private func revoke(_ token: UUID, endingHooks: Bool, _ database: HookDatabase) async throws -> String? {
        try await database.texts(
            "SELECT (name IS NOT NULL)::text || ' ' || array_to_string(ended, ' ') FROM webhooks.revoke_token('\(token)', \(endingHooks))"
        )
        .first
    }

    private static let ended = "inactive The server token that registered it was revoked"

    @Test("revoking a token can end exactly the hooks that it registered, also afterwards")
    func revoked() async throws {
        try await HookDatabase.run { database in
            let (leaked, other) = (try await token(database), try await token(database))
            let hooks = [
                try await register(with: leaked, database), try await register(with: leaked, database),
            ]
            .sorted { "\($0)" < "\($1)" }
            let kept = [try await register(with: other, database), try await register(with: nil, database)]
            #expect(try await database.number("SELECT count(*) FROM webhooks.hook WHERE token_id = '\(leaked)'") == 2)
            #expect(try await revoke(leaked, endingHooks: false, database) == "true ")
            for hook in hooks { #expect(try await status(hook, database) == "unverified ") }
            #expect(try await revoke(leaked, endingHooks: false, database) == nil)
            #expect(try await revoke(leaked, endingHooks: true, database) == "false \(hooks[0]) \(hooks[1])")
            for hook in hooks { #expect(try await status(hook, database) == Self.ended) }
            #expect(try await revoke(leaked, endingHooks: true, database) == nil)
            for hook in kept { #expect(try await status(hook, database) == "unverified ") }
            #expect(try await revoke(other, endingHooks: true, database) == "true \(kept[0])")
        }
    }

    @Test("a revoked token registers nothing, also while a gateway still caches it")
    func refused() async throws {
        try await HookDatabase.run { database in
            let token = try await token(database)
            _ = try await revoke(token, endingHooks: true, database)
            let failure = await #expect(throws: Failure.self) { try await register(with: token, database) }
            #expect(failure?.code == .authenticationRequired)
            #expect(try await database.number("SELECT count(*) FROM webhooks.hook") == 0)
        }
    }

    @Test("a registration in progress ends when its token is revoked")
    func concurrent() async throws {
        try await HookDatabase.run { database in
            let token = try await token(database)
            let hook = WebhookID.random()
            let insertion = """
                INSERT INTO webhooks.hook (id, app_id, version, target_url, secret, events, kinds, token_id)
                VALUES ('\(hook)', '\(database.app)', '3.0', 'https://example.org/', '', '{}', '{}', '\(token)')
                """
            let revoking = try await database.during(
                "SELECT webhooks.lock_token('\(database.app)', '\(token)')", then: insertion
            ) {
                let revoking = Task { try await revoke(token, endingHooks: true, database) }
                try await database.waiting(2)
                return revoking
            }
            #expect(try await revoking.value == "true \(hook)")
            #expect(try await status(hook, database) == Self.ended)
        }
    }
}
