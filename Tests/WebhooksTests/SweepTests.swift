// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres
import StrataModel
import TestTiers
import Testing

@testable import Webhooks

/// Removal, retention and redelivery of events, against PostgreSQL.
@Suite("retention of webhook data")
struct SweepTests {
    private static let week = 7 * 86_400

    private func rows(_ hook: WebhookID, _ database: HookDatabase) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in ["outbox", "lane", "delivery"] {
            counts.append(try await database.number("SELECT count(*) FROM webhooks.\(table) WHERE hook_id = '\(hook)'"))
        }
        return counts
    }

    /// Records delivery attempts made the given numbers of days ago, the oldest first.
    private func attempt(_ hook: WebhookID, days: [Int], _ database: HookDatabase) async throws {
        for days in days {
            try await database.sql(
                """
                INSERT INTO webhooks.delivery (
                    hook_id, app_id, event, event_id, kind, created_at, attempted_at, attempt, is_delivered, latency_ms, lane, lane_position,
                    lane_number)
                VALUES (
                    '\(hook)', '\(database.app)', 0, gen_random_uuid(), 'Message.created', now(), now() - \(days) * interval '1 day', 1, true, 1,
                    gen_random_uuid(), 1, 0)
                """)
        }
    }

    private func sweep(_ database: HookDatabase, portion: Int64 = 3) async throws -> Int64 {
        try await database.store.sweep(keep: .seconds(Self.week), portion: portion, deadline: HookDatabase.soon)
    }

    @Test("a sweep deletes data of deleted hooks, events of hooks inactive for a week, and old attempts")
    func swept() async throws {
        try await HookDatabase.run { database in
            let (active, young) = (
                try await database.hook(), try await database.hook(status: "inactive", inactiveFor: Self.week - 60)
            )
            let (old, gone) = (
                try await database.hook(status: "inactive", inactiveFor: Self.week + 60), WebhookID.random()
            )
            for hook in [active, young, old, gone] {
                try await database.addPendingEvents(hook, lanes: 2, events: 5)
                try await attempt(hook, days: [8, 8, 8, 8, 6], database)
            }
            #expect(try await sweep(database) == 4 + 4 + (4 + 12) + (5 + 12))
            #expect(try await rows(active, database) == [10, 2, 1])
            #expect(try await rows(young, database) == [10, 2, 1])
            #expect(try await rows(old, database) == [0, 0, 1])
            #expect(try await rows(gone, database) == [0, 0, 0])
            #expect(try await sweep(database) == 0)
        }
    }

    @Test("a sweep processes more hooks than one batch")
    func many() async throws {
        try await HookDatabase.run { database in
            for _ in 0..<7 { try await database.addPendingEvents(try await database.hook()) }
            for _ in 0..<7 { try await database.addPendingEvents(WebhookID.random()) }
            #expect(try await sweep(database) == 14)
            #expect(try await database.number("SELECT count(*) FROM webhooks.outbox") == 7)
        }
    }

    @Test("a hook that is being activated loses nothing, and one instance sweeps at a time")
    func meanwhile() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook(status: "inactive", inactiveFor: Self.week + 60)
            try await database.addPendingEvents(hook)
            let activation = "SELECT webhooks.begin_activation('\(database.app)', '\(hook)', 60000)"
            #expect(try await database.during(activation) { try await sweep(database) } == 0)
            #expect(try await rows(hook, database) == [1, 1, 0])
            try await database.execute("DELETE FROM webhooks.outbox; DELETE FROM webhooks.lane")
            for _ in 0..<2 { try await database.addPendingEvents(WebhookID.random()) }
            #expect(
                try await database.during("SELECT webhooks.sweep(\(Self.week), 1, NULL)") { try await sweep(database) }
                    == 0)
            #expect(try await sweep(database) == 3)
        }
    }

    @Test("the backlog counts active hooks' lanes, failing ones, and the wait of the oldest other lane")
    func backlog() async throws {
        try await HookDatabase.run { database in
            let (hook, inactive) = (try await database.hook(), try await database.hook(status: "inactive"))
            try await database.addPendingEvents(hook, lanes: 2, dueIn: -100)
            try await database.addPendingEvents(hook, lanes: 3, attempts: 1, dueIn: -1000)
            try await database.addPendingEvents(inactive, lanes: 4, dueIn: -1000)
            func read() async throws -> [Int64] {
                let rows = try await database.store.pool.query(ReadBacklog(), deadline: HookDatabase.soon)
                let row = try #require(rows.first)
                return [row.lanes, row.failing, row.oldestSeconds / 100]
            }
            #expect(try await read() == [5, 3, 1])
            #expect(try await database.claim([(hook, 3)]).filter { $0.failures == 0 }.count == 2)
            #expect(try await read() == [5, 3, 0])
        }
    }

    @Test("an event is deleted when no outbox and no listed attempt refers to it, directly or by the sweep")
    func collected() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            let lanes = try await database.addPendingEvents(hook, lanes: 3)
            let rows = try await database.texts("SELECT event::text FROM webhooks.outbox ORDER BY event")
                .compactMap { Int64($0) }
            func count() async throws -> Int64 { try await database.number("SELECT count(*) FROM webhooks.event") }
            func collect() async throws {
                _ = try await database.store.pool.query(CollectEvents(events: rows), deadline: HookDatabase.soon)
            }
            try await collect()
            #expect(try await count() == 3)
            try await database.sql("DELETE FROM webhooks.outbox WHERE lane <> '\(lanes[0])'")
            try await attempt(hook, days: [0], database)
            try await database.sql(
                """
                UPDATE webhooks.delivery SET event = (
                    SELECT min(e.id) FROM webhooks.event e WHERE NOT EXISTS (SELECT FROM webhooks.outbox o WHERE o.event = e.id))
                """)
            try await collect()
            #expect(try await count() == 2)
            try await database.execute("DELETE FROM webhooks.outbox; DELETE FROM webhooks.delivery")
            // Events of the last minute are kept, because they may still be delivered.
            try await database.store.sweepEvents(portion: 1, deadline: HookDatabase.soon)
            #expect(try await count() == 2)
            try await database.sql("UPDATE webhooks.event SET created_at = now() - interval '2 minutes'")
            try await database.store.sweepEvents(portion: 1, deadline: HookDatabase.soon)
            #expect(try await count() == 0)
        }
    }

    @Test("a hook with an excessive backlog ends and loses it if its app's is excessive; suspended apps' hooks end")
    func limited() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook, lanes: 2, events: 3)
            let waiting = try await database.store.waiting(deadline: HookDatabase.soon)
            #expect(waiting.map(\.bytes) == [2400] && waiting.map(\.isInactive) == [false])
            let ended = try await database.store.hooks(
                EndRecording(id: hook, reason: "full"), deadline: HookDatabase.soon)
            #expect(ended.map(\.webhook.statusReason) == ["full"])
            #expect(
                try await database.store.hooks(EndRecording(id: hook, reason: "full"), deadline: HookDatabase.soon)
                    .isEmpty)
            _ = try await database.store.hooks(DiscardBacklog(id: hook), deadline: HookDatabase.soon)
            #expect(try await database.store.waiting(deadline: HookDatabase.soon).map(\.isInactive) == [true])
            #expect(try await sweep(database, portion: 100) == 8)
            #expect(try await database.store.waiting(deadline: HookDatabase.soon).isEmpty)

            let other = try await database.hook()
            try await database.execute(
                """
                INSERT INTO conversations.app (id, name, provider_id, suspended) VALUES ('\(database.app)', 'app', gen_random_uuid(), true)
                ON CONFLICT (id) DO UPDATE SET suspended = true
                """)
            let suspended = try await database.store.hooks(EndSuspended(), deadline: HookDatabase.soon)
            #expect(suspended.map(\.webhook.id) == [other])
            #expect(suspended.map(\.webhook.statusReason) == ["The app is suspended"])
        }
    }

    // MARK: Redelivery

    private func redeliver(_ event: UUID, _ hook: WebhookID, _ database: HookDatabase) async throws -> String? {
        try await database.store.outcome(
            RedeliverEvent(app: database.app, id: hook, event: event, limit: 2), deadline: HookDatabase.soon)
    }

    @Test("a pending event is retried at once, also a redelivered one; a delivered one gets a separate lane")
    func redelivered() async throws {
        try await HookDatabase.run { database in
            let hook = try await database.hook()
            try await database.addPendingEvents(hook)
            let owner = try #require(
                try await database.store.hooks(ReadHooks(app: database.app, id: hook), deadline: HookDatabase.soon)
                    .first)
            let log = DeliveryLog(
                store: database.store, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let writing = Task { try await log.run() }
            defer { writing.cancel() }
            func tried(_ lane: ClaimedLane, isDelivered: Bool) async throws {
                let before = try await database.number("SELECT count(*) FROM webhooks.delivery")
                log.add(
                    DeliveryLog.Attempt(
                        hook: owner, event: lane.events[0], attemptedAt: StrataModel.Timestamp(microseconds: 0),
                        number: 1, isDelivered: isDelivered,
                        status: nil, latency: .zero, error: nil))
                try await eventually { try await database.number("SELECT count(*) FROM webhooks.delivery") > before }
                if isDelivered {
                    try await database.finish(lane, upTo: lane.events[0])
                } else {
                    try await database.finish(lane, failures: lane.failures + 1, pause: .seconds(3600))
                }
                #expect(try await database.claim([(hook, 10)]).isEmpty)
            }
            let first = try #require(try await database.claim([(hook, 10)]).first)
            let event = first.events[0].id
            #expect(try await redeliver(event, hook, database) == "not_found")
            try await tried(first, isDelivered: false)
            #expect(try await redeliver(event, hook, database) == "ok")
            let again = try #require(try await database.claim([(hook, 10)]).first)
            #expect(again.lane == first.lane && again.failures == 1)
            try await tried(again, isDelivered: true)
            #expect(try await redeliver(event, hook, database) == "ok")
            let own = try #require(try await database.claim([(hook, 10)]).first)
            #expect(own.lane != first.lane && own.events.map(\.id) == [event] && own.events[0].subject == first.lane)
            try await tried(own, isDelivered: false)
            #expect(try await redeliver(event, hook, database) == "ok")
            let last = try await database.claim([(hook, 10)])
            #expect(last.map(\.lane) == [own.lane] && last.map(\.failures) == [1])
            #expect(try await database.number("SELECT count(*) FROM webhooks.outbox") == 1)
        }
    }
}
