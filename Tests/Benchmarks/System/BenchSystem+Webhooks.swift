// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import StrataCommand

/// The app's webhooks, accessed through the Server API.
extension BenchSystem {
    private struct Webhook: Decodable {
        let id: String
        let status: String
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case id, status
            case reason = "status_reason"
        }

        var uuid: String { String(id.suffix(36)) }
    }

    /// Registers a webhook and returns its UUID.
    func register(_ url: String, events: [String], version: String = "3.0") async throws -> String {
        let body: [String: Any] = [
            "version": version, "target_url": url, "events": events, "secret": "a secret of the benchmark's receivers",
            "config": [String: String](),
        ]
        let answer = try await server(.POST, "webhooks", try JSONSerialization.data(withJSONObject: body))
        return try JSONDecoder().decode(Webhook.self, from: answer).uuid
    }

    /// Waits until all webhooks of the app are active. The first one needs 15 s.
    func awaitActiveWebhooks() async throws {
        let end = ContinuousClock.now + .seconds(90)
        while true {
            let waiting = try await webhooks().filter { $0.status != "active" }
            guard let first = waiting.first else { return }
            guard .now < end else { throw BenchProblem("a webhook is \(first.status): \(first.reason ?? "no reason")") }
            // A webhook becomes inactive if a busy machine answers the challenge too late. It is then activated again.
            for webhook in waiting where webhook.status == "inactive" {
                _ = try await server(.POST, "webhooks/\(webhook.uuid)/activate")
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    /// Returns the number of the app's inactive webhooks.
    func inactiveWebhooks() async throws -> Int { try await webhooks().count { $0.status == "inactive" } }

    private func webhooks() async throws -> [Webhook] {
        try JSONDecoder().decode([Webhook].self, from: try await server(.GET, "webhooks"))
    }

    private func server(_ method: HTTPMethod, _ path: String, _ body: Data? = nil) async throws -> Data {
        var request = HTTPClientRequest(
            url: "http://127.0.0.1:\(gatewayPort)/apps/\(app.id.uuidString.lowercased())/\(path)")
        request.method = method
        request.headers = [
            "Accept": "application/vnd.layer.webhooks+json; version=3.0", "Authorization": "Bearer \(app.serverToken)",
            "Content-Type": "application/json",
        ]
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await client.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 8 << 20)
        guard response.status.code < 300 else {
            throw BenchProblem("\(path) answered \(response.status.code): \(String(buffer: answer).prefix(300))")
        }
        return Data(answer.readableBytesView)
    }

    /// Records a number of message events for a webhook in one statement, with the rows that messages would cause.
    func record(_ events: Int, for hook: String, conversations: Int) async throws {
        let facts = """
            {"actor": "u0", "message": {"sender": "u0", "ordinal": 1, "sent_at": 1795502794527555, "position": 2, "statuses": [2, 0],
            "message_id": "00000000-0000-0000-0000-0000000000d1", "recipients": ["u0", "u1"], "updated_at": null, "receipt_policy": 0},
            "identities": {"u0": {"avatar_url": null, "display_name": "User"}}}
            """
        try await execute(
            """
            WITH lane AS MATERIALIZED (SELECT gen_random_uuid() AS id FROM generate_series(1, \(conversations))), event AS (
                INSERT INTO webhooks.event (app_id, kind, event_id, created_at, subject, facts)
                SELECT '\(app.id)', 'Message.created', gen_random_uuid(), now(), l.id, '\(facts)'
                FROM lane l CROSS JOIN generate_series(1, \(events / conversations))
                RETURNING id, subject
            ), owed AS (
                INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
                SELECT '\(hook)', e.subject, row_number() OVER (PARTITION BY e.subject ORDER BY e.id), 0, e.id, 400 FROM event e
            )
            INSERT INTO webhooks.lane (hook_id, lane, app_id, bytes)
            SELECT '\(hook)', l.id, '\(app.id)', 400 * \(events / conversations) FROM lane l;
            """)
    }
}

/// The sizes of a system's database, in bytes.
struct DiskUse: Sendable {
    var database = 0
    /// The size of the tables and indexes of webhooks.
    var webhooks = 0
    /// The bytes of pending events of the app that has the most. Each event counts once for each webhook.
    var waiting = 0

    static func - (one: DiskUse, other: DiskUse) -> DiskUse {
        DiskUse(database: one.database - other.database, webhooks: one.webhooks - other.webhooks, waiting: one.waiting)
    }
}

extension BenchSystem {
    private static let diskUse = Statement(
        "bench.disk_use",
        sql: """
            SELECT pg_database_size(current_database()) AS database,
                (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                    WHERE c.relnamespace = 'webhooks'::regnamespace AND c.relkind = 'r') AS webhooks,
                (SELECT coalesce(max(l.bytes), 0)::bigint
                    FROM (SELECT sum(x.bytes) AS bytes FROM webhooks.lane x GROUP BY x.app_id) l) AS waiting
            """, isIdempotent: true)

    /// Reads the sizes of the database, without the write-ahead log, which the server's own settings bound.
    func diskUse() async throws -> DiskUse {
        var configuration = try PostgresConfiguration(url: state.databaseURL)
        configuration.connections = 1
        configuration.readsWholeTables = true
        configuration.statementTimeout = .seconds(30)
        let pool = PostgresPool(
            configuration: configuration, mode: .exclusive,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await pool.run() }
        defer { running.cancel() }
        let end = ContinuousClock.now + .seconds(30)
        while await !pool.isReachable(deadline: .now + .seconds(5)) {
            guard .now < end else { throw BenchProblem("the database does not answer") }
            try await Task.sleep(for: .milliseconds(50))
        }
        guard let row = try await pool.query(Self.diskUse, deadline: end).first else { return DiskUse() }
        return DiskUse(
            database: try row.get("database", as: Int.self), webhooks: try row.get("webhooks", as: Int.self),
            waiting: try row.get("waiting", as: Int.self))
    }
}
