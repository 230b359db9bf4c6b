// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Postgres

/// Columns declared by name. They are resolved once, read by index, and refused if the result has other columns.
@Suite(.timeLimit(.minutes(3)))
struct ColumnSetTests {
    private struct Columns: ColumnSet {
        let number: Column<Int64>
        let name: Column<String>
        let names: Column<[String]>

        init(_ names: inout ColumnNames) throws(PostgresError) {
            number = try names.column("number")
            name = try names.column("name")
            self.names = try names.column("names")
        }
    }

    private func withPool(_ body: (PostgresPool) async throws -> Void) async throws {
        let configuration = try await TestDatabase.configuration()
        try await running(PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger)) {
            pool async throws in
            try await body(pool)
        }
    }

    @Test("columns are found by name, in any order, also for an already prepared statement")
    func found() async throws {
        try await withPool { pool in
            for order in ["number, name, names", "names, 'more' AS more, number, name"] {
                let statement = Statement(
                    "test.columns.\(order.count)",
                    sql:
                        "SELECT \(order) FROM (VALUES (1::int8, 'a', '{x}'::text[]), (2, NULL, '{}')) v(number, name, names) ORDER BY number"
                )
                for _ in 0..<2 {
                    let rows = try await pool.query(statement, deadline: .now + .seconds(20))
                    let columns = try rows.columns(Columns.self)
                    #expect(try rows.map { row in try row[columns.number] } == [1, 2])
                    #expect(try rows.map { row in try row[optional: columns.name] } == ["a", nil])
                    #expect(try rows.map { row in try row[columns.names] } == [["x"], []])
                    let error = #expect(throws: PostgresError.self) { try rows[1][columns.name] }
                    #expect(error?.code == .decoding && error?.column?.hasPrefix("name") == true)
                }
            }
        }
    }

    @Test("a missing, duplicate or mistyped column is refused by name before a row is read")
    func refused() async throws {
        try await withPool { pool in
            for (place, (list, column, reason)) in [
                ("1::int8 AS number, 'a' AS name", "names", "does not exist"),
                (
                    "1::int8 AS number, 'a' AS name, 'b' AS name, '{}'::text[] AS names", "name",
                    "is there more than once"
                ),
                (
                    "1::int8 AS number, 'a' AS name, '{}'::int8[] AS names", "names",
                    "is of type 1016, not a Array<String>"
                ),
                ("1::float8 AS number, 'a' AS name, '{}'::text[] AS names", "number", "is of type 701, not a Int64"),
            ]
            .enumerated() {
                let rows = try await pool.query(
                    Statement("test.refused.\(place)", sql: "SELECT \(list) LIMIT 0"), deadline: .now + .seconds(20))
                let error = #expect(throws: PostgresError.self) { try rows.columns(Columns.self) }
                #expect(error?.code == .decoding)
                #expect(error?.column == column)
                #expect(error?.reason == reason)
            }
        }
    }

    @Test("a statement whose result has changed is prepared again, and its columns are located again")
    func changed() async throws {
        try await withPool { pool in
            let migrator = Migrator(configuration: try await TestDatabase.configuration())
            func function(_ result: String, _ value: String) -> String {
                """
                DROP FUNCTION IF EXISTS public.test_columns();
                CREATE FUNCTION public.test_columns() RETURNS TABLE (\(result)) LANGUAGE sql AS $$ SELECT \(value) $$;
                """
            }
            let statement = Statement(
                "test.columns.changed", sql: "SELECT * FROM public.test_columns()", isIdempotent: true)
            try await migrator.execute(
                script: function("number int8, name text, names text[]", "1::int8, 'a', '{}'::text[]"))
            for _ in 0..<3 {
                let rows = try await pool.query(statement, deadline: .now + .seconds(20))
                #expect(try rows[0][try rows.columns(Columns.self).number] == 1)
            }
            try await migrator.execute(
                script: function("name text, names text[], number int8", "'a', '{}'::text[], 2::int8"))
            for _ in 0..<3 {
                let rows = try await pool.query(statement, deadline: .now + .seconds(20))
                #expect(try rows[0][try rows.columns(Columns.self).number] == 2)
            }
            try await migrator.execute(script: "DROP FUNCTION public.test_columns()")
        }
    }

    @Test("each Swift type accepts the column types that it can decode")
    func types() {
        func accepts<Value: PostgresDecodable>(_ type: Value.Type, _ types: UInt32...) {
            #expect(Set(Value.columnTypes) == Set(types))
        }
        accepts(Bool.self, 16)
        accepts(Int64.self, 20, 21, 23)
        accepts([UInt8].self, 17)
        accepts([Int64].self, 1016)
        accepts([[UInt8]].self, 1001)
        accepts(PostgresTimestamp.self, 1114, 1184)
    }
}
