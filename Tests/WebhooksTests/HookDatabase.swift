// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres
import Schema
import ServiceKit
import StrataModel
import TestSupport
import TestTiers
import Testing

@testable import Webhooks

/// A database with the complete schema and an app with hooks, accessible with the service's role and as superuser.
struct HookDatabase: Sendable {
    /// A store that uses the service's role, which has no other rights than those granted.
    let store: HookStore
    private let url: String
    private let admin: PostgresPool
    private let gate: PostgresPool
    let app = AppID(rawValue: UUID())
    /// The key that encrypts hooks' secrets, equal to that in ``settings(_:)``.
    let secrets = HookSecrets(serviceSecret: serviceSecret)
    /// The secret with which requests to receivers are signed.
    static let secret = "the secret of a hook"
    private static let serviceSecret = "a secret of the service, long enough"

    static var soon: ContinuousClock.Instant { .now + .seconds(20) }
    private static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    static func run(_ body: @Sendable (HookDatabase) async throws -> Void) async throws {
        let url = try await TestServers.postgres()
        _ = try await Migrator(configuration: PostgresConfiguration(url: url))
            .migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        func pool(as role: String?, _ connections: Int) throws -> PostgresPool {
            var configuration = try PostgresConfiguration(url: url)
            if let role { configuration.role = role }
            configuration.connections = connections
            (configuration.lockTimeout, configuration.statementTimeout) = (.seconds(60), .seconds(60))
            return PostgresPool(configuration: configuration, mode: .exclusive, logger: quiet)
        }
        let database = HookDatabase(
            store: HookStore(pool: try pool(as: "strata_webhooks", 2), logger: quiet), url: url,
            admin: try pool(as: nil, 3),
            gate: try pool(as: nil, 1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pool in [database.store.pool, database.admin, database.gate] { group.addTask { try await pool.run() } }
            defer { group.cancelAll() }
            try await body(database)
        }
    }

    // MARK: Superuser access

    @discardableResult
    func sql(_ text: String) async throws -> Rows {
        try await admin.query(Statement("test.\(UUID())", sql: text), deadline: Self.soon)
    }

    func number(_ text: String) async throws -> Int64 {
        guard let row = try await sql("SELECT (\(text))::int8").first else { throw CancellationError() }
        return try row.get(0, as: Int64.self)
    }

    func texts(_ text: String) async throws -> [String] { try await sql(text).map { try $0.get(0, as: String.self) } }

    /// Executes statements in one transaction.
    func execute(_ script: String) async throws {
        try await Migrator(configuration: PostgresConfiguration(url: url)).execute(script: script)
    }

    /// Runs `body` while a transaction has executed `script` and is still open. It executes `rest` before it ends.
    func during<Value: Sendable>(
        _ script: String, then rest: String = "", _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        _ = try await gate.query(Statement("test.close", sql: "SELECT pg_advisory_lock(1)"), deadline: Self.soon)
        async let transaction: Void = execute("\(script); SELECT pg_advisory_xact_lock(1); \(rest)")
        try await waiting(1)
        let value = try await body()
        _ = try await gate.query(Statement("test.open", sql: "SELECT pg_advisory_unlock(1)"), deadline: Self.soon)
        try await transaction
        return value
    }

    /// Waits until `count` sessions wait for a lock.
    func waiting(_ count: Int64) async throws {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        try await eventually("\(count) sessions do not wait for a lock") { try await number(waiting) >= count }
    }

    // MARK: The service

    /// Returns the settings of a service that may call receivers on this machine.
    func settings(_ others: [String: String] = [:]) throws -> WebhooksSettings {
        let environment = [
            "STRATA_POSTGRES_URL": url, "STRATA_WEBHOOKS_SECRET": Self.serviceSecret,
            "STRATA_PUBLIC_URL": "https://chat.example.org", "STRATA_WEBHOOKS_ALLOW_HTTP": "true",
            "STRATA_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.0/8",
        ]
        let settings = Settings(environment: environment.merging(others) { $1 })
        return try WebhooksSettings(settings, common: CommonSettings(settings, secretKey: WebhooksService.secretKey))
    }

    // MARK: Hooks

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    /// Creates a hook that was verified a minute ago.
    func hook(
        status: String = "active", kinds: [WebhookEventKind] = [.messageCreated], inactiveFor seconds: Int? = nil
    ) async throws -> WebhookID {
        let id = WebhookID.random()
        let sealed = Self.hex(try secrets.seal(Self.secret, of: id, in: app))
        try await sql(
            """
            INSERT INTO webhooks.hook (id, app_id, version, target_url, secret, events, kinds, status, verified_at, inactive_since)
            VALUES (
                '\(id)', '\(app)', '3.0', 'https://example.org/', '\\x\(sealed)', '{}', '{\(kinds.map(\.rawValue).joined(separator: ","))}', '\(status)',
                now() - interval '1 minute', now() - \(seconds.map(String.init) ?? "NULL") * interval '1 second')
            """)
        return id
    }

    /// Creates pending events of a hook, equally many in each lane.
    /// - Parameters:
    ///   - attempts: The number of failed attempts of the first event in each lane.
    ///   - dueIn: The seconds until the lanes are due; negative: the time for which they have been due.
    /// - Returns: The lanes.
    @discardableResult
    func addPendingEvents(
        _ hook: WebhookID, lanes: Int = 1, events: Int = 1, attempts: Int = 0, dueIn seconds: Int = -1
    ) async throws -> [UUID] {
        try await sql(
            """
            WITH made AS MATERIALIZED (SELECT gen_random_uuid() AS id FROM generate_series(1, \(lanes))), event AS (
                INSERT INTO webhooks.event (app_id, kind, event_id, created_at, subject, facts)
                SELECT '\(app)', 'Message.created', gen_random_uuid(), now(), l.id, '{}' FROM made l CROSS JOIN generate_series(1, \(events))
                RETURNING id, subject
            ), owed AS (
                INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
                SELECT '\(hook)', e.subject, row_number() OVER (PARTITION BY e.subject ORDER BY e.id), 0, e.id, 400 FROM event e
            )
            INSERT INTO webhooks.lane (hook_id, lane, app_id, attempts, failed_since, due_at, bytes)
            SELECT '\(hook)', l.id, '\(app)', \(attempts), \(attempts > 0 ? "now()" : "NULL"), now() + \(seconds) * interval '1 second',
                400 * \(events)
            FROM made l RETURNING lane
            """
        )
        .map { try $0.get(0, as: UUID.self) }
    }

    /// Claims lanes as an instance does, beginning with the first of these hooks.
    func claim(
        _ limits: [(hook: WebhookID, lanes: Int)], total: Int = 100, events: Int = 32, bytes: Int = 1 << 20
    ) async throws -> [ClaimedLane] {
        let claimed = try await store.claim(
            ClaimLanes(
                hooks: limits.map(\.hook.rawValue), limits: limits.map { Int64($0.lanes) }, total: Int64(total),
                claim: UUID(), lease: 60_000),
            deadline: Self.soon)
        return try await store.read(claimed, of: app, events: Int64(events), bytes: Int64(bytes), deadline: Self.soon)
    }

    /// Ends the work on a lane.
    /// - Returns: False if another transaction has locked the lane.
    @discardableResult
    func finish(
        _ lane: ClaimedLane, upTo event: RecordedEvent? = nil, failures: Int = 0, pause: Duration? = nil
    ) async throws -> Bool {
        let result = LaneResult(
            hook: lane.hook, lane: lane.lane, position: event?.position ?? 0, number: event?.number ?? 0,
            failures: failures, pause: pause)
        return try await store.finish([result], of: lane.claim, deadline: Self.soon).isEmpty
    }
}
