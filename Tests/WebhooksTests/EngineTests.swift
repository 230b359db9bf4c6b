// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Logging
import NIOCore
import NIOPosix
import StrataModel
import TestCluster
import TestTiers
import Testing

@testable import Webhooks

/// The engine's processing of lanes, against PostgreSQL and a receiver.
@Suite("the delivery of lanes", .timeLimit(.minutes(3)))
struct EngineTests {
    private func run(
        _ database: HookDatabase, _ others: [String: String] = [:], names: NameLookup = NameLookup(),
        _ body: (WebhookReceiver) async throws -> Void
    ) async throws {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let settings = try database.settings(others)
        let sender = HTTPSender(
            policy: AddressPolicy(allowed: settings.allowedAddresses), timeout: settings.timeout, connectionsPerHost: 4,
            trustedRoots: [],
            group: MultiThreadedEventLoopGroup.singleton, names: names)
        let log = DeliveryLog(store: database.store, logger: quiet)
        let engine = DeliveryEngine(
            store: database.store, sender: sender, log: log, secrets: database.secrets, settings: settings,
            logger: quiet)
        let receiver = try await WebhookReceiver.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await engine.run() }
            group.addTask { try await log.run() }
            defer { group.cancelAll() }
            try await body(receiver)
        }
        await receiver.stop()
    }

    /// Creates an inactive hook with pending receipts, which can be rendered.
    private func addPendingEvents(
        _ database: HookDatabase, lanes: Int = 1, events: Int = 1, attempts: Int = 0
    ) async throws -> (hook: WebhookID, lanes: [UUID]) {
        let hook = try await database.hook(status: "inactive")
        let pending = try await database.addPendingEvents(
            hook, lanes: lanes, events: events, attempts: attempts, dueIn: -1000)
        try await database.sql(
            #"UPDATE webhooks.event SET kind = 'Receipt.created', facts = '{"actor": "ana", "status": 2, "from": 1, "to": 1}'"#
        )
        return (hook, pending)
    }

    private func activate(at url: String, _ database: HookDatabase) async throws {
        try await database.sql("UPDATE webhooks.hook SET status = 'active', target_url = '\(url)'")
    }

    /// Waits until `count` lanes fulfil the condition.
    private func wait(for count: Int64, lanes condition: String = "true", _ database: HookDatabase) async throws {
        try await eventually("there are not \(count) lanes: \(condition)") {
            try await database.number("SELECT count(*) FROM webhooks.lane WHERE \(condition)") == count
        }
    }

    /// A condition that is true for a lane that was claimed and released before its lease ended.
    private static let isReleased = "claim IS NULL AND due_at > now() - interval '500 seconds'"

    @Test("lanes with unreadable events are returned with their capacity, before the lease ends")
    func reading() async throws {
        try await HookDatabase.run { database in
            _ = try await addPendingEvents(database, lanes: 2)
            try await database.execute("REVOKE EXECUTE ON FUNCTION webhooks.read_lanes FROM strata_webhooks, PUBLIC")
            // The lease lasts minutes, and there is room for one lane.
            try await run(database, ["STRATA_WEBHOOKS_TIMEOUT": "60s", "STRATA_WEBHOOKS_IN_FLIGHT": "1"]) { receiver in
                try await activate(at: receiver.url("/hook"), database)
                try await wait(for: 2, lanes: Self.isReleased, database)
                try await database.execute("GRANT EXECUTE ON FUNCTION webhooks.read_lanes TO strata_webhooks")
                _ = try await receiver.events(at: "/hook") { $0.count == 2 }
                try await wait(for: 0, database)
            }
        }
    }

    @Test("an unreadable event is retried like a failed one, and delays its conversation only")
    func unreadable() async throws {
        try await HookDatabase.run { database in
            let (hook, lanes) = try await addPendingEvents(database, lanes: 2, events: 2)
            try await database.sql(
                """
                UPDATE webhooks.event SET kind = 'Message.invented'
                WHERE id = (SELECT event FROM webhooks.outbox WHERE lane = '\(lanes[0])' AND position = 1)
                """)
            try await run(database, ["STRATA_WEBHOOKS_RETRY_AFTER": "1h"]) { receiver in
                try await activate(at: receiver.url("/hook"), database)
                _ = try await receiver.events(at: "/hook") { $0.count == 2 }
                try await wait(for: 1, database)
                try await wait(for: 1, lanes: "claim IS NULL AND attempts = 1 AND lane = '\(lanes[0])'", database)
                #expect(
                    try await database.number("SELECT count(*) FROM webhooks.outbox WHERE lane = '\(lanes[0])'") == 2)
                var attempts: [WebhookDelivery] = []
                try await eventually("\(attempts.count) attempts are recorded") {
                    attempts = try await database.store.deliveries(
                        of: hook, in: database.app, deadline: HookDatabase.soon)
                    return attempts.count >= 3
                }
                let failed = attempts.filter { !$0.isDelivered }
                #expect(failed.map(\.type) == ["Message.invented"])
                #expect(failed.map(\.error) == ["the event could not be read"])
                // A newer version knows this kind.
                try await database.sql("UPDATE webhooks.event SET kind = 'Receipt.created'")
                try await database.sql("UPDATE webhooks.lane SET due_at = now()")
                _ = try await receiver.events(at: "/hook") { $0.count == 4 }
                try await wait(for: 0, database)
            }
        }
    }

    @Test("an event unreadable in every version is skipped after its retries, and its webhook continues")
    func unreadableForGood() async throws {
        try await HookDatabase.run { database in
            let (_, lanes) = try await addPendingEvents(database, events: 2)
            try await database.sql(
                """
                UPDATE webhooks.event SET kind = 'Message.invented'
                WHERE id = (SELECT event FROM webhooks.outbox WHERE lane = '\(lanes[0])' AND position = 1)
                """)
            let retries = [
                "STRATA_WEBHOOKS_RETRY_AFTER": "10ms", "STRATA_WEBHOOKS_RETRY_EVERY": "1m",
                "STRATA_WEBHOOKS_RETRY_FOR": "0s",
            ]
            try await run(database, retries) { receiver in
                try await activate(at: receiver.url("/hook"), database)
                _ = try await receiver.events(at: "/hook") { $0.count == 1 }
                try await wait(for: 0, database)
                #expect(try await database.texts("SELECT status FROM webhooks.hook") == ["active"])
            }
        }
    }

    @Test("an unreadable hook stops no other, and continues once it is readable")
    func unreadableHook() async throws {
        try await HookDatabase.run { database in
            let (hook, broken) = (try await addPendingEvents(database).hook, try await addPendingEvents(database).hook)
            try await run(database) { receiver in
                try await database.sql("UPDATE webhooks.hook SET config = '{\"depth\": 1}' WHERE id = '\(broken)'")
                try await activate(at: receiver.url("/hook"), database)
                _ = try await receiver.events(at: "/hook") { $0.count == 1 }
                try await wait(for: 0, lanes: "hook_id = '\(hook)'", database)
                #expect(
                    try await database.number("SELECT count(*) FROM webhooks.outbox WHERE hook_id = '\(broken)'") == 1)

                let listed = try await database.store.hooks(
                    ReadHooks(app: database.app, id: nil), deadline: HookDatabase.soon)
                #expect(listed.map(\.webhook.id) == [hook])
                await #expect(throws: Failure.self) {
                    try await database.store.hook(ReadHooks(app: database.app, id: broken), deadline: HookDatabase.soon)
                }

                try await database.sql("UPDATE webhooks.hook SET config = '{}'")
                _ = try await receiver.events(at: "/hook") { $0.count == 2 }
                try await wait(for: 0, database)
            }
        }
    }

    @Test("a delivery that did not reach the receiver is no failed attempt")
    func interrupted() async throws {
        try await HookDatabase.run { database in
            _ = try await addPendingEvents(database, attempts: 2)
            let names = NameLookup()
            await names.shutDown()
            try await run(database, names: names) { receiver in
                try await activate(at: receiver.url("/hook", host: "receiver.test"), database)
                try await wait(for: 1, lanes: Self.isReleased, database)
                #expect(try await database.number("SELECT attempts FROM webhooks.lane") == 2)
                #expect(receiver.events(at: "/hook").isEmpty)
            }
        }
    }

    @Test(
        "events are signed with the registered secret; a hook with an undecryptable one stays active and delays no other"
    )
    func signed() async throws {
        try await HookDatabase.run { database in
            let (good, _) = try await addPendingEvents(database)
            let (bad, _) = try await addPendingEvents(database)
            let other = try HookSecrets(serviceSecret: "another secret of another service")
                .seal(HookDatabase.secret, of: bad, in: database.app)
            try await database.sql(
                "UPDATE webhooks.hook SET secret = '\\x\(HookDatabase.hex(other))' WHERE id = '\(bad)'")
            try await run(database) { receiver in
                for (hook, path) in [(bad, "/bad"), (good, "/good")] {
                    try await database.sql(
                        "UPDATE webhooks.hook SET status = 'active', target_url = '\(receiver.url(path))' WHERE id = '\(hook)'"
                    )
                }
                let told = try #require(try await receiver.events(at: "/good") { $0.count == 1 }.first)
                let key = SymmetricKey(data: Data(HookDatabase.secret.utf8))
                #expect(
                    told.headers["layer-webhook-signature"]
                        == EventRequest.signature(of: ByteBuffer(bytes: told.body), with: key))
                #expect(receiver.events(at: "/bad").isEmpty)
                #expect(try await database.texts("SELECT status FROM webhooks.hook WHERE id = '\(bad)'") == ["active"])
                // The pending event is sent once its secret can be read.
                let sealed = try database.secrets.seal(HookDatabase.secret, of: bad, in: database.app)
                try await database.sql(
                    "UPDATE webhooks.hook SET secret = '\\x\(HookDatabase.hex(sealed))' WHERE id = '\(bad)'")
                _ = try await receiver.events(at: "/bad") { $0.count == 1 }
                try await wait(for: 0, database)
            }
        }
    }

    @Test("an event that may have killed instances repeatedly is delivered without its objects")
    func lost() async throws {
        try await HookDatabase.run { database in
            _ = try await addPendingEvents(database)
            try await database.sql(
                """
                UPDATE webhooks.event SET kind = 'Message.updated', facts = '{"actor": "ana", "message": {
                    "message_id": "00000000-0000-4000-8000-000000000001", "position": 1, "ordinal": 1, "sender": "ana", "sent_at": 0}}'
                """)
            try await database.sql("UPDATE webhooks.lane SET lost = 3")
            try await database.execute("REVOKE EXECUTE ON FUNCTION webhooks.complete FROM strata_webhooks, PUBLIC")
            try await run(database) { receiver in
                try await activate(at: receiver.url("/hook"), database)
                let told = try await receiver.events(at: "/hook") { $0.count == 1 }
                let body = String(decoding: told.first?.body ?? [], as: UTF8.self)
                #expect(body.contains(#""id":"layer:///messages/00000000-0000-4000-8000-000000000001""#), "\(body)")
                try await wait(for: 0, database)
            }
        }
    }
}
