// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import Synchronization
import TestSupport
import Testing

@testable import Conversations

/// Migration steps that alter tables whose row types are used by functions, on a database in use.
@Suite struct StepTests {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Steps that add columns with a default, change column types, and use a new column.
    private static let steps = [
        Migration(
            version: 9_001, name: "defaults",
            sql: """
                LOCK TABLE conversations.conversation IN ACCESS EXCLUSIVE MODE;
                ALTER TABLE conversations.conversation ADD COLUMN extra bigint NOT NULL DEFAULT 7;
                ALTER TABLE conversations.participant ADD COLUMN extra text NOT NULL DEFAULT '';
                """),
        Migration(
            version: 9_002, name: "types",
            sql: """
                LOCK TABLE conversations.conversation IN ACCESS EXCLUSIVE MODE;
                ALTER TABLE conversations.conversation ALTER COLUMN deleted_at TYPE timestamptz(3);
                ALTER TABLE conversations.participant ALTER COLUMN first_kept TYPE numeric;
                """),
        Migration(
            version: 9_003, name: "later", sql: "CREATE INDEX conversation_extra ON conversations.conversation (extra)"),
    ]

    @Test(
        "tables used as row types by functions can get a defaulted column and another type; functions, grants and rows stay"
    )
    func altered() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        try await database.execute(SchemaDatabase.past)
        let tables = try await database.tables()
        let (catalog, rows, answers) = (
            try await database.catalog(), try await database.rows(of: tables), try await database.answers()
        )
        #expect(catalog.count > 200 && rows.count > 40 && answers.count > 40)
        let report = try await database.migrator.migrate(
            Schema.migrations + Self.steps, functions: Schema.functions, logger: ServiceFixture.quietLogger)
        #expect(report.steps == Self.steps)
        #expect(try await database.lines("SELECT DISTINCT extra::text FROM conversations.conversation") == ["7"])
        #expect(
            try await database.lines("SELECT DISTINCT pg_typeof(first_kept)::text FROM conversations.participant") == [
                "numeric"
            ])
        #expect(
            try await database.lines("SELECT 'conversations.conversation_extra'::regclass::text") == [
                "conversations.conversation_extra"
            ])
        #expect(try await database.catalog() == catalog)
        #expect(try await database.rows(of: tables) == rows)
        #expect(try await database.answers() == answers)
        // The tables match what the functions expect.
        try await database.execute(SchemaDatabase.message(9, by: "ben"))
        let again = try await database.migrator.migrate(
            Schema.migrations + Self.steps, functions: Schema.functions, logger: ServiceFixture.quietLogger)
        #expect(again.steps.isEmpty && !again.replacedFunctions)
    }

    /// These steps change no column type. That rewrites the table, and PostgreSQL shows a rewritten table as empty to
    /// statements that began earlier.
    @Test("sessions with prepared statements continue to read and write while tables get columns with defaults")
    func inUse() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        try await database.execute(SchemaDatabase.past)
        let send = Statement(
            "test.send",
            sql: """
                SELECT outcome FROM conversations.send_message(
                    '\(SchemaDatabase.app)', 'ben', '\(SchemaDatabase.conversation)', gen_random_uuid(), '\\x01', NULL, NULL, NULL, NULL, true)
                """)
        let list = Statement(
            "test.list",
            sql:
                "SELECT count((l.view).conversation_id)::text FROM conversations.list_conversations_page('\(SchemaDatabase.app)', 'cleo', true, 10, NULL, 100000) l"
        )
        let isAltered = Flag()
        try await database.withPool(connections: 4) { pool in
            /// Runs a statement. It is retried if it waited for a step's lock for longer than its timeout (55P03).
            @Sendable func answer(_ statement: Statement) async throws -> String {
                while true {
                    do {
                        return try #require(try await pool.query(statement, deadline: .soon).first)
                            .get(0, as: String.self)
                    } catch let error as PostgresError where error.sqlState == "55P03" {
                        continue
                    }
                }
            }
            @Sendable func round() async throws {
                #expect(try await answer(send) == "ok")
                #expect(try await answer(list) == "1")
            }
            for _ in 0..<20 { try await round() }
            try await withThrowingTaskGroup(of: Void.self) { sessions in
                for _ in 0..<4 {
                    sessions.addTask { while !isAltered.isSet.load(ordering: .relaxed) { try await round() } }
                }
                sessions.addTask {
                    defer { isAltered.isSet.store(true, ordering: .relaxed) }
                    _ = try await database.migrator.migrate(
                        Schema.migrations + Self.steps.prefix(1), functions: Schema.functions,
                        logger: ServiceFixture.quietLogger)
                }
                try await sessions.waitForAll()
            }
            for _ in 0..<20 { try await round() }
        }
        #expect(
            try await database.lines("SELECT count(*)::text FROM strata.schema_migrations WHERE version > 9000") == [
                "1"
            ])
    }
}
