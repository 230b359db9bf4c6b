// SPDX-License-Identifier: Apache-2.0
import Postgres
import ServiceLifecycle
import StrataModel
import TestTiers
import Testing

@testable import DatabaseKit

@Suite("the directory of apps", .timeLimit(.minutes(2))) struct AppDirectoryTests {
    private let app = AppID.random()

    /// Runs the directory of two databases. The second one has the app.
    /// - Parameter body: also receives a pool of the second database.
    private func run(_ body: @Sendable (AppDirectory, PostgresPool) async throws -> Void) async throws {
        let urls = [try await ServiceFixture.migratedDatabase(), try await ServiceFixture.migratedDatabase()]
        for (number, name) in ["main", "second"].enumerated() {
            try await Migrator(configuration: PostgresConfiguration(url: urls[number]))
                .execute(script: "SELECT conversations.name_database('\(name)', \(number + 1))")
        }
        var configuration = try PostgresConfiguration(url: urls[1])
        try await Migrator(configuration: configuration)
            .execute(
                script:
                    "INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(app)', 'test', gen_random_uuid())"
            )
        configuration.connections = 2
        configuration.statementTimeout = .seconds(20)
        let logger = ServiceFixture.quietLogger
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: logger)
        let list = try #require(DatabaseList("main=\(urls[0]) second=\(urls[1])"))
        let directory = try #require(try AppDirectory.make(PostgresSettings(list), for: "test", logger: logger))
        let services = ServiceGroup(services: directory.services + [pool], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            defer { group.cancelAll() }
            try await body(directory, pool)
        }
    }

    @Test("lookups that do not end are at most 64, and do not delay the apps that are known", .long)
    func flood() async throws {
        try await run { directory, pool in
            #expect(try await directory.index(of: app, deadline: .soon) == 1)
            let holder = Task {
                // Reading the state of an app waits for this lock, and reading the departures does not.
                let lock = "LOCK TABLE conversations.app IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(8);"
                _ = try await pool.query(
                    Statement("test.lock", sql: "DO $$ BEGIN \(lock) END $$"), deadline: .soon)
            }
            try await eventually("the table is locked") {
                let locks = Statement(
                    "test.locks",
                    sql: """
                        SELECT count(*)::text FROM pg_locks l WHERE l.relation = 'conversations.app'::regclass
                        AND l.mode = 'AccessExclusiveLock' AND l.granted
                        """)
                return try await pool.query(locks, deadline: .soon).first?.get(0, as: String.self) == "1"
            }
            let lookups = (0..<AppDirectory.maximumLookups)
                .map { _ in Task { try await directory.index(of: .random(), deadline: .soon) } }
            try await eventually("all lookups have begun") { directory.lookups.count == lookups.count }
            await #expect(throws: Failure.unavailable) {
                _ = try await directory.index(of: .random(), deadline: .soon)
            }
            // Lists from before the flood are not valid any more.
            try await Task.sleep(for: AppDirectory.lifetime)
            #expect(try await directory.index(of: app, deadline: .soon) == 1)
            #expect(directory.lookups.count > 0, "the lookups ended too early for this test")
            for lookup in lookups {
                await #expect(throws: Failure.unavailable) { _ = try await lookup.value }
            }
            holder.cancel()
        }
    }
}
