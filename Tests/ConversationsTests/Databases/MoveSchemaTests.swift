// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Conversations

/// The rules by which tables can be moved between databases.
@Suite("the schema allows moves of apps") struct MoveSchemaTests {
    private static let schemas = "n.nspname IN ('conversations', 'metadata', 'webhooks')"

    @Test("every table with rows of apps has a primary key")
    func keys() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        let tables = try await database.lines("SELECT t.root::text FROM conversations.tables_of_moves() t")
        #expect(tables.count > 40)
        let without = try await database.lines(
            """
            SELECT t.root::text FROM conversations.tables_of_moves() t
            WHERE conversations.key_columns(t.root) IS NULL OR conversations.key_columns(t.relation) IS NULL
            """)
        #expect(without == [])
    }

    @Test("the ids of sequences are those of one database")
    func sequences() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        let sequences = """
            FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE \(Self.schemas)
            """
        // The numbers of noted changes stay in their database.
        let own = try await database.lines("SELECT c.oid::regclass::text \(sequences) AND s.seqincrement <> 1024")
        #expect(own == ["conversations.app_move_row_number_seq"])
        try await database.execute("SELECT conversations.name_database('second', 7)")
        let others = try await database.lines(
            """
            SELECT c.oid::regclass::text \(sequences) AND s.seqincrement = 1024
                AND nextval(c.oid::regclass) % 1024 <> 7
            """)
        #expect(others == [])
    }

    @Test("no trigger acts when rows are copied or removed")
    func triggers() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        // A copied row is inserted, and a changed one removed before. note_indexes keeps the column of a copied row.
        let triggers = try await database.lines(
            """
            SELECT t.tgrelid::regclass || ' ' || t.tgname FROM pg_trigger t
            JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE \(Self.schemas) AND NOT t.tgisinternal AND t.tgtype & (4 | 8) <> 0
            """)
        #expect(triggers == ["conversations.conversation note_indexes"])
    }
}
