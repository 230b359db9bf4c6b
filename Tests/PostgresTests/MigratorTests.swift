// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestTiers
import Testing

@testable import Postgres

/// Each test has its own database, because a database has one table of migrations.
@Suite(.timeLimit(.minutes(2)))
struct MigratorTests {
    private func withDatabase(_ body: (Migrator, PostgresPool) async throws -> Void) async throws {
        let name = "m_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        let url = try await TestDatabase.url()
        let admin = Migrator(configuration: try await TestDatabase.configuration())
        try await admin.execute(script: "CREATE DATABASE \(name)")
        var components = try #require(URLComponents(string: url))
        components.path = "/\(name)"
        let configuration = try await TestDatabase.configuration(url: components.string)
        do {
            try await running(PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger))
            { pool async throws in
                try await body(Migrator(configuration: configuration), pool)
            }
        } catch {
            try? await admin.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
            throw error
        }
        try await admin.execute(script: "DROP DATABASE \(name) WITH (FORCE)")
    }

    private let first = Migration(
        version: 1, name: "first",
        sql: """
            CREATE TABLE a (id int8 PRIMARY KEY, note text DEFAULT 'semi;colon');
            -- a comment; with a semicolon
            CREATE FUNCTION bump(wanted int8) RETURNS int8 LANGUAGE plpgsql AS $body$
            DECLARE
                result int8;
            BEGIN
                INSERT INTO a (id) VALUES (wanted) ON CONFLICT (id) DO UPDATE SET note = 'again; and again' RETURNING id INTO result;
                RETURN result;
            END;
            $body$;
            SELECT bump(7);
            """)
    private let second = Migration(
        version: 2, name: "second", sql: "ALTER TABLE a ADD COLUMN extra text; CREATE INDEX ON a (extra)")

    @Test("migrations are applied once, in order, including function bodies")
    func applies() async throws {
        try await withDatabase { migrator, pool async throws in
            #expect(try await migrator.migrate([second, first], logger: TestDatabase.logger) == [first, second])
            #expect(try await migrator.migrate([first, second], logger: TestDatabase.logger) == [])
            #expect(try await pool.value("SELECT bump(7)", as: Int64.self) == 7)
            #expect(
                try await pool.value("SELECT string_agg(name, ',' ORDER BY version) FROM strata.schema_migrations")
                    == "first,second")
        }
    }

    @Test("a failed migration leaves no trace, earlier ones stay, and it can be corrected")
    func failure() async throws {
        try await withDatabase { migrator, pool async throws in
            let broken = Migration(version: 2, name: "broken", sql: "CREATE TABLE b (); SELECT 1/0; CREATE TABLE c ()")
            let error = try await #require(throws: PostgresError.self) {
                try await migrator.migrate([first, broken], logger: TestDatabase.logger)
            }
            #expect(error.code == .migration)
            #expect(error.sqlState == "22012")
            #expect(error.reason?.contains("2 (broken)") == true)
            #expect(try await pool.value("SELECT to_regclass('b') IS NULL"))
            #expect(try await pool.value("SELECT count(*) FROM strata.schema_migrations") == 1)
            #expect(try await migrator.migrate([first, second], logger: TestDatabase.logger) == [second])
        }
    }

    @Test("a migration changed after it was applied is an error that names it and runs nothing")
    func changed() async throws {
        try await withDatabase { migrator, pool async throws in
            _ = try await migrator.migrate([first], logger: TestDatabase.logger)
            let changed = Migration(version: 1, name: "first", sql: first.sql + " ")
            let error = try await #require(throws: PostgresError.self) {
                try await migrator.migrate([changed, second], logger: TestDatabase.logger)
            }
            #expect(error.code == .migration)
            #expect(error.reason?.contains("1 (first) was changed") == true)
            #expect(try await pool.value("SELECT count(*) FROM strata.schema_migrations") == 1)
        }
    }

    @Test("a migration that ends its own transaction is refused")
    func ownTransaction() async throws {
        try await withDatabase { migrator, pool async throws in
            let error = try await #require(throws: PostgresError.self) {
                try await migrator.migrate(
                    [Migration(version: 1, name: "rude", sql: "COMMIT")], logger: TestDatabase.logger)
            }
            #expect(error.reason?.contains("1 (rude)") == true)
            #expect(try await pool.value("SELECT count(*) FROM strata.schema_migrations") == 0)
        }
    }

    @Test("concurrent migrators wait for each other, and each migration is applied by one of them")
    func concurrent() async throws {
        try await withDatabase { migrator, pool async throws in
            let migrations = (1...5)
                .map { Migration(version: $0, name: "m\($0)", sql: "CREATE TABLE t\($0) (); SELECT pg_sleep(0.01)") }
            let applied = try await withThrowingTaskGroup(of: [Migration].self) { tasks in
                for _ in 0..<6 { tasks.addTask { try await migrator.migrate(migrations, logger: TestDatabase.logger) } }
                var all: [Migration] = []
                for try await some in tasks { all += some }
                return all
            }
            #expect(applied.map(\.version).sorted() == [1, 2, 3, 4, 5])
            #expect(try await pool.value("SELECT count(*) FROM strata.schema_migrations") == 5)
        }
    }

    @Test("a migrator whose task is cancelled stops waiting, and its work is rolled back")
    func cancelled() async throws {
        try await withDatabase { migrator, pool async throws in
            let slow = Migration(version: 1, name: "slow", sql: "CREATE TABLE b (); SELECT pg_sleep(60)")
            let task = Task { try await migrator.migrate([slow], logger: TestDatabase.logger) }
            let running =
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE TABLE b%' AND state = 'active'"
            try await eventually { try await pool.value(running, as: Int.self) == 1 }
            task.cancel()
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            try await eventually { try await pool.value("SELECT to_regclass('b') IS NULL") }
        }
    }

    @Test("a script runs completely or not at all")
    func script() async throws {
        try await withDatabase { migrator, pool async throws in
            try await migrator.execute(script: "CREATE TABLE x (); CREATE TABLE y ()")
            #expect(try await pool.value("SELECT to_regclass('y') IS NOT NULL"))
            let error = try await #require(throws: PostgresError.self) {
                try await migrator.execute(script: "CREATE TABLE z (); SELEC")
            }
            #expect(error.sqlState == "42601")
            #expect(try await pool.value("SELECT to_regclass('z') IS NULL"))
            await #expect(throws: PostgresError.self) { try await migrator.execute(script: "SELECT 1\0") }
        }
    }

    @Test("a session can use another role and another schema")
    func role() async throws {
        try await withDatabase { migrator, pool async throws in
            let role = "r_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
            try await migrator.execute(
                script:
                    "CREATE ROLE \(role); CREATE SCHEMA \"Odd \"\"one\"; GRANT USAGE ON SCHEMA \"Odd \"\"one\" TO \(role)"
            )
            var configuration = pool.core.configuration
            configuration.role = role
            configuration.searchPath = ["Odd \"one", "public"]
            try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger))
            { limited async throws in
                #expect(try await limited.value("SELECT current_user::text") == role)
                #expect(try await limited.value("SELECT current_schema()::text") == "Odd \"one")
            }
            try await migrator.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test("a database that cannot be reached is an error, not a hang")
    func unreachable() async throws {
        let migrator = Migrator(
            configuration: try PostgresConfiguration(url: "postgresql://127.0.0.1:1/none?user=none"))
        let error = await #expect(throws: PostgresError.self) {
            try await migrator.migrate([], logger: TestDatabase.logger)
        }
        #expect(error?.code == .connectionUnavailable)
    }
}
