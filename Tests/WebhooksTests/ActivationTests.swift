// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOPosix
import Postgres
import StrataModel
import Testing

@testable import Webhooks

/// Activation of hooks, against PostgreSQL.
@Suite("activation of webhooks")
struct ActivationTests {
    private func settle(_ database: HookDatabase) async throws {
        _ = try await database.store.pool.query(SettleHooks(delay: 1000), deadline: HookDatabase.soon)
    }

    private func reset(_ limit: Int64, _ database: HookDatabase) async throws -> Int64 {
        let rows = try await database.store.pool.query(ResetLanes(limit: limit), deadline: HookDatabase.soon)
        return try #require(rows.first).count
    }

    private func status(_ hook: WebhookID, _ database: HookDatabase) async throws -> String {
        try #require(try await database.texts("SELECT status FROM webhooks.hook WHERE id = '\(hook)'").first)
    }

    @Test("a hook with failed lanes becomes active after these were made due in batches; other hooks do not wait")
    func portions() async throws {
        try await HookDatabase.run { database in
            let (many, none) = (
                try await database.hook(status: "unverified"), try await database.hook(status: "unverified")
            )
            try await database.addPendingEvents(many, lanes: 5, attempts: 3, dueIn: 3600)
            try await database.addPendingEvents(none, lanes: 1)
            // Lanes of an unverified hook are not made due.
            let other = try await database.hook(status: "inactive")
            try await database.addPendingEvents(other, lanes: 1, attempts: 3, dueIn: 3600)
            try await settle(database)
            #expect(try await status(none, database) == "active")
            var counts: [Int64] = []
            for _ in 0..<3 {
                #expect(try await status(many, database) == "unverified")
                counts.append(try await reset(2, database))
                if counts.count < 3 { try await settle(database) }
            }
            #expect(counts == [2, 2, 1])
            #expect(try await reset(2, database) == 0)
            try await settle(database)
            #expect(try await status(many, database) == "active")
            #expect(try await database.claim([(many, 10)]).map { $0.failures } == [0, 0, 0, 0, 0])
            #expect(
                try await database.number(
                    "SELECT count(*) FROM webhooks.lane WHERE hook_id = '\(many)' AND failed_since IS NOT NULL") == 0)
            #expect(try await database.number("SELECT attempts FROM webhooks.lane WHERE hook_id = '\(other)'") == 3)
        }
    }

    @Test("a lane locked by another transaction delays its own hook only")
    func locked() async throws {
        try await HookDatabase.run { database in
            let (held, free) = (
                try await database.hook(status: "unverified"), try await database.hook(status: "unverified")
            )
            for hook in [held, free] { try await database.addPendingEvents(hook, attempts: 1, dueIn: 3600) }
            try await database.during("SELECT FROM webhooks.lane WHERE hook_id = '\(held)' FOR UPDATE") {
                // The query may pick any of the hooks.
                while try await status(free, database) != "active" {
                    _ = try await reset(10, database)
                    try await settle(database)
                }
                #expect(try await status(held, database) == "unverified")
            }
            #expect(try await reset(10, database) == 1)
            try await settle(database)
            #expect(try await status(held, database) == "active")
        }
    }

    @Test("activating a hook does not claim a lane in delivery again before its lease ends")
    func underWay() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, attempts: 2)
            #expect(try await database.claim([(hook, 1)]).map(\.failures) == [2])
            // The hook was deactivated, and its receiver is being challenged again.
            try await database.sql("UPDATE webhooks.hook SET status = 'unverified'")
            #expect(try await reset(10, database) == 1)
            #expect(try await database.claim([(hook, 1)]).isEmpty)
            try await database.sql("UPDATE webhooks.lane SET due_at = now() - interval '1 second'")
            #expect(try await database.claim([(hook, 1)]).map(\.failures) == [0])
        }
    }

    @Test("an unreadable hook does not stop the verification of others")
    func unreadable() async throws {
        try await HookDatabase.run { database in
            let (broken, hook) = (
                try await database.hook(status: "unverified"), try await database.hook(status: "unverified")
            )
            try await database.sql(
                "UPDATE webhooks.hook SET verified_at = NULL, verify_at = now() - interval '1 second'")
            try await database.sql("UPDATE webhooks.hook SET config = '{\"depth\": 1}' WHERE id = '\(broken)'")
            let claimed = try await database.store.hooks(
                ClaimVerifications(limit: 8, lease: 60_000), deadline: HookDatabase.soon)
            #expect(claimed.map(\.webhook.id) == [hook])
        }
    }

    @Test("giving up a hook ends the activation in which it failed, and no later one")
    func givenUp() async throws {
        try await HookDatabase.run { database in
            let id = try await database.hook()
            func read() async throws -> Hook {
                try #require(try await database.store.hooks(ReadActiveHooks(), deadline: HookDatabase.soon).first)
            }
            func giveUp(_ hook: Hook) async throws -> [Hook] {
                try await database.store.hooks(
                    GiveUpHook(id: id, reason: "gone", verifiedAt: try #require(hook.verifiedAt)),
                    deadline: HookDatabase.soon)
            }
            let before = try await read()
            // The hook was deactivated and activated in the meantime.
            try await database.sql("UPDATE webhooks.hook SET verified_at = clock_timestamp()")
            #expect(try await giveUp(before).isEmpty)
            #expect(try await status(id, database) == "active")
            let now = try await read()
            _ = try await database.store.hooks(
                BeginActivation(app: database.app, id: id, lease: 60_000), deadline: HookDatabase.soon)
            #expect(try await giveUp(now).isEmpty)
            _ = try await database.store.hooks(
                EndVerification(id: id, reason: nil, delay: 1000), deadline: HookDatabase.soon)
            #expect(try await giveUp(now).map(\.webhook.statusReason) == ["gone"])
            #expect(try await status(id, database) == "inactive")
            #expect(try await giveUp(now).isEmpty)
        }
    }

    @Test("an interrupted verification is no verdict, and the hook waits for another one")
    func interrupted() async throws {
        try await HookDatabase.run { database in
            let id = try await database.hook(status: "inactive")
            let names = NameLookup()
            let sender = HTTPSender(
                policy: AddressPolicy(allowed: []), timeout: .seconds(20), connectionsPerHost: 1, trustedRoots: [],
                group: MultiThreadedEventLoopGroup.singleton, names: names)
            let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let verifier = Verifier(
                store: database.store, sender: sender, settings: try database.settings(), logger: quiet)
            let begun = try await database.store.hooks(
                BeginActivation(app: database.app, id: id, lease: 60_000), deadline: HookDatabase.soon)
            // The service shuts down.
            await names.shutDown()
            let verified = try await verifier.verify(try #require(begun.first))
            #expect(verified == begun.first)
            #expect(try await status(id, database) == "unverified")
            #expect(try await database.number("SELECT count(*) FROM webhooks.hook WHERE verify_at > now()") == 1)
            await sender.shutDown()
        }
    }

    @Test("a verified hook is active at once beside another one, unless its lanes have failed")
    func verified() async throws {
        try await HookDatabase.run { database in
            _ = try await database.hook()
            for attempts in [0, 2] {
                let hook = try await database.hook(status: "inactive")
                try await database.addPendingEvents(hook, attempts: attempts, dueIn: 3600)
                _ = try await database.store.hooks(
                    BeginActivation(app: database.app, id: hook, lease: 60_000), deadline: HookDatabase.soon)
                let ended = try await database.store.hooks(
                    EndVerification(id: hook, reason: nil, delay: 1000), deadline: HookDatabase.soon)
                let status: Webhook.Status = attempts == 0 ? .active : .unverified
                #expect(ended.map(\.webhook.status) == [status])
                #expect(try await reset(10, database) == (attempts == 0 ? 0 : 1))
            }
        }
    }

    @Test(
        "a hook beside one that is being deleted or deactivated waits like the first hook",
        arguments: [
            "DELETE FROM webhooks.hook WHERE id = '%'",
            "UPDATE webhooks.hook SET status = 'inactive', verified_at = NULL WHERE id = '%'",
        ])
    func ending(_ script: String) async throws {
        try await HookDatabase.run { database in
            let ending = try await database.hook()
            let hook = try await database.hook(status: "inactive")
            _ = try await database.store.hooks(
                BeginActivation(app: database.app, id: hook, lease: 60_000), deadline: HookDatabase.soon)
            let ended = try await database.during(script.replacing("%", with: "\(ending)")) {
                try await database.store.hooks(
                    EndVerification(id: hook, reason: nil, delay: 1000), deadline: HookDatabase.soon)
            }
            #expect(ended.map(\.webhook.status) == [.unverified])
        }
    }
}
