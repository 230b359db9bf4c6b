// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import StrataModel
import Testing

@testable import Conversations

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
        do {
            try await eventually {
                try await number("SELECT count(*) FROM pg_locks l WHERE \(Self.isAt(gate)) AND NOT l.granted") == 1
            }
        } catch {
            // The statement itself failed. Its error is more informative.
            try await run("SELECT pg_advisory_unlock(\(gate))", on: keeper)
            try await held
            throw error
        }
        async let outcome = racing()
        try await eventually {
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

    func eventually(_ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.Instant.soon
        while try await !isSo() {
            guard ContinuousClock.now < deadline else { throw NeverHappened() }
            await Task.yield()
        }
    }

    struct NeverHappened: Error {}
}

/// Calls of functions in the schema `conversations`, as text for ``CallsFixture/holding(_:until:then:_:)``.
extension CallsFixture {
    func sqlPatch(
        _ id: ConversationID, by actor: String, participants: String = "[]", metadata: String? = nil
    ) -> String {
        "conversations.patch_participants('\(app)', '\(actor)', '\(id)', '\(participants)', 6, \(metadata.map { "'\($0)'" } ?? "NULL"), NULL, NULL)"
    }

    /// Returns a statement that takes only the lock that every change takes.
    func sqlLock(_ id: ConversationID) -> String { "FROM conversations.conversation WHERE id = '\(id)' FOR UPDATE" }

    func sqlSend(_ id: ConversationID, by actor: String, _ message: MessageID = .random()) -> String {
        "conversations.send_message('\(app)', '\(actor)', '\(id)', '\(message)', '', NULL, NULL, NULL)"
    }

    func sqlDelete(_ id: ConversationID, by actor: String) -> String {
        "conversations.delete_conversation('\(app)', '\(actor)', '\(id)', 'all_participants', false, NULL, NULL, NULL)"
    }

    func sqlCreate(
        _ participants: [String], by actor: String, id: ConversationID, metadata: [String: String]? = nil
    ) -> String {
        func array(_ texts: [String]?) -> String {
            texts.map { "ARRAY[\($0.map { "'\($0)'" }.joined(separator: ","))]::text[]" } ?? "NULL"
        }
        let leaves = metadata.map { Array($0) }
        return """
            conversations.create_conversation('\(app)', '\(actor)', '\(id)', \(array(participants)), true, \(array(leaves?.map(\.key))),
                \(array(leaves?.map(\.value))), 6, NULL, NULL)
            """
    }
}
