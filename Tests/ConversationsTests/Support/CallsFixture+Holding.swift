// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import StrataModel
import TestTiers
import Testing

@testable import Conversations

/// Transactions that stay open until others wait for their locks.
extension CallsFixture {
    /// Runs `statement` in a transaction that stays open until `count` sessions wait for its locks. It then runs `last`
    /// and commits. `racing` runs concurrently.
    ///
    /// The transaction waits for an advisory lock, which a separate session holds until then.
    /// - Parameter meanwhile: Runs while the sessions wait, and ends before the transaction continues.
    func holding<Value: Sendable>(
        _ statement: String, until count: Int64 = 1, then last: String? = nil,
        meanwhile: @Sendable () async throws -> Void = {},
        _ racing: @Sendable () async throws -> Value
    ) async throws -> Value {
        let gate = Int64.random(in: 1...Int64.max)
        try await run("SELECT pg_advisory_lock(\(gate))", on: keeper)
        async let held: Void = run(
            """
            DO $do$ BEGIN
                PERFORM \(statement);
                PERFORM pg_advisory_xact_lock(\(gate));
                \(last.map { "PERFORM \($0);" } ?? "")
            END $do$
            """, on: admin)
        let holder = "(SELECT l.pid FROM pg_locks l WHERE \(Self.isAt(gate)) AND NOT l.granted)"
        let isHeld = try await eventually("the transaction does not wait at its gate") {
            try await number("SELECT count(*) FROM pg_locks l WHERE \(Self.isAt(gate)) AND NOT l.granted") == 1
        }
        guard isHeld else {
            // The statement itself failed. Its error is more informative.
            try await run("SELECT pg_advisory_unlock(\(gate))", on: keeper)
            try await held
            throw CancellationError()
        }
        async let outcome = racing()
        try await eventually("\(count) sessions do not wait for the transaction") {
            try await number(
                """
                WITH RECURSIVE waiting(pid) AS (
                    SELECT \(holder)
                    UNION
                    SELECT a.pid FROM waiting w JOIN pg_stat_activity a ON w.pid = ANY (pg_blocking_pids(a.pid)))
                SELECT count(*) - 1 FROM waiting
                """) >= count
        }
        do {
            try await meanwhile()
        } catch {
            try await run("SELECT pg_advisory_unlock(\(gate))", on: keeper)
            try await held
            throw error
        }
        try await run("SELECT pg_advisory_unlock(\(gate))", on: keeper)
        try await held
        return try await outcome
    }

    private static func isAt(_ gate: Int64) -> String {
        "l.locktype = 'advisory' AND l.classid::int8 = \(gate >> 32) AND l.objid::int8 = \(gate & 0xffff_ffff)"
    }

    private func run(_ sql: String, on pool: PostgresPool) async throws {
        _ = try await pool.query(Statement("test.\(UUID())", sql: sql), deadline: .soon)
    }
}
