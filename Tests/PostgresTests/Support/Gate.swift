// SPDX-License-Identifier: Apache-2.0

import TestTiers
import Testing

@testable import Postgres

/// An advisory lock, held by a separate session, that keeps a connection of a pool busy until it is released.
struct Gate {
    let key: Int64
    let keeper: PostgresPool

    static func closed<Result>(_ body: (Gate) async throws -> Result) async throws -> Result {
        var configuration = try await TestDatabase.configuration()
        configuration.connections = 1
        return try await running(
            PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger)
        ) { keeper in
            let gate = Gate(key: .random(in: 1...Int64.max), keeper: keeper)
            try await keeper.sql("SELECT pg_advisory_lock($1)", [.int8(gate.key)])
            return try await body(gate)
        }
    }

    /// Waits in the server until the gate is open.
    func pass(
        _ pool: PostgresPool, within time: Duration = .seconds(30), idempotent: Bool = false
    ) async throws(PostgresError) {
        try await pool.sql("SELECT pg_advisory_xact_lock($1)", [.int8(key)], idempotent: idempotent, within: time)
    }

    func waiting() async throws -> Int {
        try await keeper.value(
            """
            SELECT count(*) FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND classid::int8 = ($1 >> 32) AND objid::int8 = ($1 & 4294967295)
            """, [.int8(key)])
    }

    func open() async throws {
        try await keeper.sql("SELECT pg_advisory_unlock($1)", [.int8(key)])
    }

    /// Starts `count` calls, which all queue while the pool's only connection waits at the gate. Then opens it and
    /// returns their results.
    func group<Output: Sendable>(
        _ pool: PostgresPool, _ count: Int, _ call: @escaping @Sendable (Int) async throws(PostgresError) -> Output
    ) async throws -> [Result<Output, PostgresError>] {
        try await withThrowingTaskGroup(of: (Int, Result<Output, PostgresError>?).self) { tasks in
            tasks.addTask {
                try await self.pass(pool)
                return (-1, nil)
            }
            try await eventually { try await self.waiting() == 1 }
            for index in 0..<count {
                tasks.addTask {
                    do throws(PostgresError) {
                        return (index, .success(try await call(index)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            try await eventually { pool.core.queueDepth == count }
            try await open()
            var results: [Int: Result<Output, PostgresError>] = [:]
            for try await (index, result) in tasks { results[index] = result }
            return (0..<count).compactMap { results[$0] }
        }
    }
}
