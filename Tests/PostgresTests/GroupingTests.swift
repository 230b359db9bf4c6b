// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TestTiers
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(2)))
struct GroupingTests {
    static let table = "CREATE TABLE item (id int8 PRIMARY KEY, n int8 NOT NULL DEFAULT 0 CHECK (n < 1000), xid xid8)"

    @Test("statements that wait together form one group in one transaction")
    func oneTransaction() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let results = try await Gate.closed { gate async throws in
                try await gate.group(pool, 32) { _ throws(PostgresError) in
                    try await pool.sql("SELECT pg_current_xact_id()::text").first?.get(0, as: String.self) ?? ""
                }
            }
            let ids = try results.map { try $0.get() }
            #expect(ids.count == 32)
            #expect(Set(ids).count == 1)
        }
    }

    @Test("an exclusive pool never groups")
    func exclusive() async throws {
        try await withPool(.exclusive, configure: { $0.connections = 1 }) { pool async throws in
            let results = try await Gate.closed { gate async throws in
                try await gate.group(pool, 16) { _ throws(PostgresError) in
                    try await pool.sql("SELECT pg_current_xact_id()::text").first?.get(0, as: String.self) ?? ""
                }
            }
            #expect(Set(try results.map { try $0.get() }).count == 16)
        }
    }

    @Test("a failing statement alone gets its error, and the other 31 of its group succeed")
    func oneFails() async throws {
        try await withPool(setUp: Self.table, configure: { $0.connections = 1 }) { pool async throws in
            let results = try await Gate.closed { gate async throws in
                try await gate.group(pool, 32) { index throws(PostgresError) in
                    try await pool.sql(
                        "INSERT INTO item VALUES ($1, $2)", [.int8(Int64(index)), .int8(index == 17 ? 1000 : 1)])
                }
            }
            for (index, result) in results.enumerated() {
                switch result {
                case .success(let rows):
                    #expect(index != 17)
                    #expect(rows.affectedRows == 1)
                case .failure(let error):
                    #expect(index == 17)
                    #expect(error.code == .server)
                    #expect(error.sqlState == "23514")
                    #expect(error.serverDetail?.isEmpty == false)
                    #expect(!error.isRetryable)
                }
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 31)
        }
    }

    @Test("a statement that cannot be prepared fails alone, every time")
    func prepareFails() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            for _ in 0..<2 {
                let results = try await Gate.closed { gate async throws in
                    try await gate.group(pool, 9) { index throws(PostgresError) in
                        try await pool.sql(index % 3 == 1 ? "SELECT * FROM missing_\(index)" : "SELECT \(index)::int8")
                            .count
                    }
                }
                for (index, result) in results.enumerated() {
                    switch result {
                    case .success(let count): #expect(index % 3 != 1 && count == 1)
                    case .failure(let error): #expect(index % 3 == 1 && error.sqlState == "42P01")
                    }
                }
            }
        }
    }

    @Test("a result is delivered after the commit, so that another session sees the write")
    func afterCommit() async throws {
        try await withPool(setUp: Self.table, configure: { $0.connections = 4 }) { pool async throws in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for index in 0..<200 {
                    tasks.addTask {
                        try await pool.sql("INSERT INTO item VALUES ($1, 1)", [.int8(Int64(index))])
                        let seen = try await pool.value(
                            "SELECT count(*) FROM item WHERE id = $1", [.int8(Int64(index))], as: Int.self)
                        #expect(seen == 1)
                    }
                }
                try await tasks.waitForAll()
            }
        }
    }

    @Test("64 tasks on 50 hot rows over 8 connections and two pools cause no deadlock and lose nothing")
    func hotRows() async throws {
        // Use a separate database, because the test reads its deadlock counter.
        var configuration = try await TestDatabase.configuration(url: try await TestServers.postgres())
        try await Migrator(configuration: configuration)
            .execute(
                script: Self.table + "; INSERT INTO item SELECT g, 0 FROM generate_series(0, 49) g")
        configuration.connections = 8
        try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)) {
            first async throws in
            try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger))
            { second async throws in
                try await Self.increment(first, second)
            }
        }
        // Sessions report their statistics when they end.
        try await running(PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger)) {
            pool async throws in
            #expect(try await pool.value("SELECT sum(n)::int8 FROM item") == 3200)
            try await eventually {
                try await pool.value(
                    "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", as: Int.self) > 100
            }
            #expect(
                try await pool.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
                    == Int64(0))
        }
    }

    private static func increment(_ first: PostgresPool, _ second: PostgresPool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for task in 0..<64 {
                let pool = task % 2 == 0 ? first : second
                tasks.addTask {
                    for turn in 0..<50 {
                        let id = Int64((task * 31 + turn * 17) % 50)
                        let rows = try await pool.sql(
                            "UPDATE item SET n = n + 1 WHERE id = $1 RETURNING n", [.int8(id)],
                            lockKey: UInt64(id) &* 0x9E37_79B9_7F4A_7C15)
                        #expect(rows.count == 1)
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test("statements that deadlock nevertheless run again")
    func deadlock() async throws {
        let setUp =
            Self.table + "; INSERT INTO item VALUES (1, 0), (2, 0);" + """
                CREATE FUNCTION mutual(a int8, b int8, gate int8) RETURNS void LANGUAGE plpgsql AS $$
                BEGIN
                    UPDATE item SET n = n + 1 WHERE id = a;
                    PERFORM pg_advisory_xact_lock_shared(gate);
                    UPDATE item SET n = n + 1 WHERE id = b;
                END $$;
                """
        try await withPool(.exclusive, setUp: setUp) { pool async throws in
            try await Gate.closed { gate async throws in
                async let one = pool.sql("SELECT mutual(1, 2, $1)", [.int8(gate.key)])
                async let other = pool.sql("SELECT mutual(2, 1, $1)", [.int8(gate.key)])
                try await eventually { try await gate.waiting() == 2 }
                try await gate.open()
                _ = try await (one, other)
            }
            #expect(try await pool.value("SELECT sum(n)::int8 FROM item") == 4)
        }
    }

    @Test("two texts with one statement name are refused, and the first text stays usable")
    func statementName() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let deadline = ContinuousClock.now.advanced(by: .seconds(30))
            _ = try await pool.query(Statement("same", sql: "SELECT 1"), deadline: deadline)
            let error = await failure { () throws(PostgresError) in
                try await pool.query(Statement("same", sql: "SELECT 2"), deadline: deadline)
            }
            #expect(error?.code == .configuration)
            _ = try await pool.query(Statement("same", sql: "SELECT 1"), deadline: deadline)
        }
    }

    @Test("a plan invalidated by a migration is prepared again")
    func stalePlan() async throws {
        try await withPool(setUp: Self.table, configure: { $0.connections = 1 }) { pool async throws in
            #expect(try await pool.sql("SELECT * FROM item").columnNames.count == 3)
            try await pool.sql("ALTER TABLE item ADD COLUMN extra text")
            #expect(try await pool.sql("SELECT * FROM item").columnNames.count == 4)
            try await pool.sql("DEALLOCATE ALL")
            #expect(try await pool.sql("SELECT * FROM item").columnNames.count == 4)
        }
    }

    @Test("a statement that opens a transaction is refused, and other statements are unaffected")
    func strayTransaction() async throws {
        try await withPool(setUp: Self.table, configure: { $0.connections = 1 }) { pool async throws in
            let error = await pool.error("BEGIN")
            #expect(error?.code == .configuration)
            try await pool.sql("INSERT INTO item VALUES (1, 1)")
            #expect(try await pool.value("SELECT count(*) FROM item") == 1)
        }
    }

    @Test("SQL errors, wrong parameters and NUL characters leave the connection usable")
    func errors() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let pid = try await pool.value("SELECT pg_backend_pid()", as: Int32.self)
            #expect(await pool.error("SELEC 1")?.sqlState == "42601")
            #expect(await pool.error("SELECT 1 / $1::int8", [.int8(0)])?.sqlState == "22012")
            #expect(await pool.error("SELECT $1::uuid", [.int8(0)])?.sqlState == "42846")
            #expect(await pool.error("SELECT $1::int8")?.code == .server)
            #expect(await pool.error("SELECT $1::text", [.text("a\0b")])?.code == .invalidParameter)
            #expect(await pool.error("SELECT 1\0")?.code == .invalidParameter)
            #expect(await pool.error("SELECT 1; SELECT 2")?.code == .server)
            #expect(try await pool.sql("").isEmpty)
            #expect(try await pool.value("SELECT pg_backend_pid()", as: Int32.self) == pid)
        }
    }

    @Test("a session is configured: durable, in UTC, named, with time limits")
    func session() async throws {
        try await withPool(configure: { $0.applicationName = "strata-test" }) { pool async throws in
            #expect(try await pool.value("SHOW synchronous_commit") == "on")
            #expect(try await pool.value("SHOW TimeZone") == "UTC")
            #expect(try await pool.value("SHOW application_name") == "strata-test")
            #expect(try await pool.value("SHOW statement_timeout") == "30s")
            #expect(try await pool.value("SHOW lock_timeout") == "30s")
            #expect(try await pool.value("SHOW idle_in_transaction_session_timeout") == "10s")
            #expect(try await pool.value("SHOW tcp_keepalives_idle") == "10")
            #expect(try await pool.value("SHOW tcp_keepalives_interval") == "5")
            #expect(try await pool.value("SHOW tcp_keepalives_count") == "3")
            #expect(try await pool.value("SHOW tcp_user_timeout") == "10000")
            #expect(await pool.isReachable(deadline: .now.advanced(by: .seconds(30))))
        }
    }
}
