// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import Testing

@testable import Conversations

/// Updates of the function files on a database in use.
@Suite struct FunctionFilesTests {
    @Test("functions are created once; one of several migrators runs an edited file once, without changing data")
    func edited() async throws {
        let database = try await SchemaDatabase()
        #expect(try await database.update().replacedFunctions)
        #expect(
            try await database.lines("SELECT cardinality(defined)::text FROM strata.schema_functions")
                == database.lines(
                    "SELECT count(*)::text FROM pg_proc WHERE pronamespace::regnamespace::text IN ('conversations', 'metadata', 'webhooks', 'console')"
                )
        )
        try await database.execute(SchemaDatabase.past)
        let tables = try await database.tables()
        let (rows, answers) = (try await database.rows(of: tables), try await database.answers())
        #expect(rows.count > 40 && answers.count > 40)
        let versions = try await database.versions()
        let again = try await database.update()
        #expect(again.steps.isEmpty && !again.replacedFunctions)
        #expect(try await database.versions() == versions)

        var files = Schema.functions.files
        let name = "sync"
        let index = try #require(files.firstIndex { $0.name == name })
        files[index] = FunctionSet.File(
            name: name,
            sql: files[index].sql.replacingOccurrences(of: "interval '30 seconds'", with: "interval '31 seconds'"))
        let edited = FunctionSet(revision: Schema.functions.revision, files: files)
        let reports = try await withThrowingTaskGroup(of: MigrationReport.self) { tasks in
            for _ in 0..<4 { tasks.addTask { try await database.update(edited) } }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(reports.count { $0.replacedFunctions } == 1)
        #expect(try await database.lines("SELECT conversations.margin()::text") == ["00:00:31"])
        #expect(try await database.rows(of: tables) == rows)
        #expect(try await database.answers() == answers)
    }

    @Test("the files alone create every function, in order")
    func complete() async throws {
        let (database, reference) = (try await SchemaDatabase(), try await SchemaDatabase())
        try await reference.update()
        try await database.update()
        let names = try await database.lines(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname IN ('conversations', 'metadata', 'webhooks', 'console') ORDER BY 1
            """)
        // Triggers are dropped with their functions.
        try await database.execute(
            "DROP FUNCTION \(names.joined(separator: ", ")) CASCADE; DELETE FROM strata.schema_functions")
        try await database.update()
        #expect(try await database.catalog() == reference.catalog())
    }
}
