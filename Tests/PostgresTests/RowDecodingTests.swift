// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Postgres

/// Rows as types. Columns are looked up by the names of members, read by index, and refused if the result lacks them.
@Suite(.timeLimit(.minutes(3)))
struct RowDecodingTests {
    private struct NameRow: Decodable {
        let number: Int64
        let name: String?
        let allNames: [String]
    }

    private struct Identifier: PostgresColumn, Equatable {
        let rawValue: UUID
        init(column: UUID) { rawValue = column }
    }

    private struct Group: Decodable, Equatable {
        let id: Identifier
        let isOpen: Bool?
        let inner: Inner

        struct Inner: Decodable, Equatable {
            let size: Int64
            let targetURL: String
        }
    }

    private struct GroupsRow: Decodable, Equatable {
        let first: Group?
        let count: Int64
        let second: Group
        let last: Double?

        enum CodingKeys: String, CodingKey { case first = "a_", count, second, last }
    }

    private func withPool(_ body: (PostgresPool) async throws -> Void) async throws {
        let configuration = try await TestDatabase.configuration()
        try await running(PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger)) {
            pool async throws in
            try await body(pool)
        }
    }

    private func rows(_ name: String, _ sql: String, by pool: PostgresPool) async throws -> Rows {
        try await pool.query(Statement("test.rows.\(name)", sql: sql), deadline: .now + .seconds(20))
    }

    @Test("columns are found by name, in any order and beside others, also for an already prepared statement")
    func found() async throws {
        try await withPool { pool in
            for (place, order) in ["number, name, all_names", "all_names, 'x' AS more, number, name, 1 AS last"]
                .enumerated()
            {
                for _ in 0..<2 {
                    let rows = try await rows(
                        "\(place)",
                        """
                        SELECT \(order) FROM (VALUES (1::int8, 'a', '{x}'::text[]), (2, NULL, '{}')) v(number, name, all_names)
                        ORDER BY number
                        """, by: pool
                    )
                    .decoded(as: NameRow.self)
                    #expect(rows.map(\.number) == [1, 2])
                    #expect(rows.map(\.name) == ["a", nil])
                    #expect(rows.map(\.allNames) == [["x"], []])
                }
            }
        }
    }

    @Test("groups of columns are decoded, with their prefix, and an optional one is nil if its first column is NULL")
    func groups() async throws {
        try await withPool { pool in
            let (a, b) = (UUID(), UUID())
            let rows = try await rows(
                "groups",
                """
                SELECT id AS a_id, true AS a_is_open, size AS a_size, 'x' AS a_target_url, 5::int8 AS count,
                    '\(b)'::uuid AS id, NULL::bool AS is_open, 8::int8 AS size, 'y' AS target_url, 0.5::float8 AS last
                FROM (VALUES (1, '\(a)'::uuid, 7::int8), (2, NULL, NULL)) v(n, id, size) ORDER BY n
                """, by: pool
            )
            .decoded(as: GroupsRow.self)
            let second = Group(
                id: Identifier(column: b), isOpen: nil, inner: Group.Inner(size: 8, targetURL: "y"))
            let first = Group(
                id: Identifier(column: a), isOpen: true, inner: Group.Inner(size: 7, targetURL: "x"))
            #expect(
                rows == [
                    GroupsRow(first: first, count: 5, second: second, last: 0.5),
                    GroupsRow(first: nil, count: 5, second: second, last: 0.5),
                ])
        }
    }

    @Test("a missing, duplicate or mistyped column is refused by name before a row is read")
    func refused() async throws {
        try await withPool { pool in
            for (place, (list, column, reason)) in [
                ("1::int8 AS number, 'a' AS name", "all_names", "does not exist"),
                (
                    "1::int8 AS number, 'a' AS name, 'b' AS name, '{}'::text[] AS all_names", "name",
                    "is there more than once"
                ),
                (
                    "1::int8 AS number, 'a' AS name, '{}'::int8[] AS all_names", "all_names",
                    "is of type 1016, not a Array<String>"
                ),
                (
                    "1::float8 AS number, 'a' AS name, '{}'::text[] AS all_names", "number",
                    "is of type 701, not a Int64"
                ),
            ]
            .enumerated() {
                let rows = try await rows("refused.\(place)", "SELECT \(list) LIMIT 0", by: pool)
                let error = #expect(throws: PostgresError.self) { try rows.decoded(as: NameRow.self) }
                #expect(error?.code == .decoding)
                #expect(error?.column == column)
                #expect(error?.reason == reason)
            }
        }
    }

    @Test("a NULL is refused by name, also for a text")
    func null() async throws {
        struct NumberRow: Decodable { let number: Int64 }
        struct TextRow: Decodable { let name: String }
        try await withPool { pool in
            let rows = try await rows("null", "SELECT NULL::int8 AS number, NULL::text AS name", by: pool)
            for (type, column) in [(NumberRow.self, "number"), (TextRow.self, "name")] as [(any Decodable.Type, String)]
            {
                func decode<T: Decodable>(_ type: T.Type) throws { _ = try rows.decoded(as: type) }
                let error = #expect(throws: PostgresError.self) { try decode(type) }
                #expect(error?.code == .decoding && error?.column == column && error?.reason == "is null")
            }
        }
    }

    @Test("a type that is no row is an error")
    func unsupported() async throws {
        struct Nested: Decodable { let number: [[String: Int]] }
        enum Word: String, Decodable { case one }
        struct EnumRow: Decodable { let number: Word }
        struct EmptyGroupRow: Decodable { let number: NoColumns? }
        try await withPool { pool in
            let rows = try await rows("unsupported", "SELECT 'one' AS number", by: pool)
            #expect(throws: PostgresError.self) { try rows.decoded(as: Nested.self) }
            #expect(throws: PostgresError.self) { try rows.decoded(as: EnumRow.self) }
            #expect(throws: PostgresError.self) { try rows.decoded(as: EmptyGroupRow.self) }
            #expect(throws: PostgresError.self) { try rows.decoded(as: String.self) }
        }
    }

    @Test("a statement whose result has changed is prepared again, and its columns are located again")
    func changed() async throws {
        try await withPool { pool in
            let migrator = Migrator(configuration: try await TestDatabase.configuration())
            func function(_ result: String, _ value: String) -> String {
                """
                DROP FUNCTION IF EXISTS public.test_rows();
                CREATE FUNCTION public.test_rows() RETURNS TABLE (\(result)) LANGUAGE sql AS $$ SELECT \(value) $$;
                """
            }
            let statement = Statement("test.rows.changed", sql: "SELECT * FROM public.test_rows()", isIdempotent: true)
            for (number, (result, value)) in [
                ("number int8, name text, all_names text[]", "1::int8, 'a', '{}'::text[]"),
                ("name text, all_names text[], number int8", "'a', '{}'::text[], 2::int8"),
                (
                    "name text, more text, all_names text[], number int8, last int8",
                    "'a', 'b', '{}'::text[], 3::int8, 4::int8"
                ),
            ]
            .enumerated() {
                try await migrator.execute(script: function(result, value))
                for _ in 0..<3 {
                    let rows = try await pool.query(statement, deadline: .now + .seconds(20))
                    #expect(try rows.decoded(as: NameRow.self).map(\.number) == [Int64(number + 1)])
                }
            }
            try await migrator.execute(script: "DROP FUNCTION public.test_rows()")
        }
    }

    @Test("the columns of a row are listed in the order of its members, and an unfit one is named with its statement")
    func described() async throws {
        let migrator = Migrator(configuration: try await TestDatabase.configuration())
        let statement = Statement(
            "test.rows.described", sql: "SELECT '{}'::text[] AS all_names, NULL::int8 AS number, 'a' AS name")
        #expect(try await migrator.check(NameRow.self, of: statement) == ["number", "name", "all_names"])
        let error = await #expect(throws: PostgresError.self) {
            try await migrator.check(GroupsRow.self, of: statement)
        }
        #expect(error?.statement == "test.rows.described" && error?.column == "a_id")
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
