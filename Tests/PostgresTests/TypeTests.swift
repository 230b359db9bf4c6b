// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import Testing

/// Sends a value to the server and compares the result.
private struct RoundTrip {
    let pool: PostgresPool

    func callAsFunction<T: PostgresDecodable & Equatable>(_ value: Value, _ type: String, _ expected: T) async throws {
        let got = try await pool.value("SELECT $1::\(type)", [value], as: T.self)
        #expect(got == expected, "\(type)")
    }
}

struct TypeTests {
    @Test("every type survives a round trip")
    func roundTrips() async throws {
        try await withPool { pool async throws in
            let check = RoundTrip(pool: pool)
            let uuids = [UUID(), UUID()]
            try await check(.text(""), "text", "")
            try await check(.text("grüße 👩‍👩‍👧 \u{FEFF}\u{1F1E9}\u{10FFFF}"), "text", "grüße 👩‍👩‍👧 \u{FEFF}\u{1F1E9}\u{10FFFF}")
            try await check(.text("it's $1 \\ \"x\""), "varchar", "it's $1 \\ \"x\"")
            try await check(.text("abc"), "name", "abc")
            try await check(.uuid(uuids[0]), "uuid", uuids[0])
            for number in [Int64.min, -1, 0, 1, .max] { try await check(.int8(number), "int8", number) }
            for number in [Int32.min, -1, 0, 1, .max] { try await check(.int4(number), "int4", number) }
            try await check(.int4(7), "int4", Int64(7))
            try await check(.int8(7), "int8", 7)
            try await check(.text("12"), "int2", Int32(12))
            try await check(.bool(true), "bool", true)
            try await check(.bool(false), "bool", false)
            try await check(.bytes([]), "bytea", [UInt8]())
            try await check(.bytes([0, 1, 0, 255, 0]), "bytea", [UInt8]([0, 1, 0, 255, 0]))
            try await check(
                .timestamp(PostgresTimestamp(microseconds: 1_700_000_000_123_456)), "timestamptz",
                PostgresTimestamp(microseconds: 1_700_000_000_123_456))
            try await check(
                .timestamp(PostgresTimestamp(microseconds: -1)), "timestamptz", PostgresTimestamp(microseconds: -1))
            try await check(
                .timestamp(PostgresTimestamp(microseconds: .max)), "timestamptz", PostgresTimestamp(microseconds: .max))
            try await check(
                .timestamp(PostgresTimestamp(microseconds: .min)), "timestamptz", PostgresTimestamp(microseconds: .min))
            try await check(.jsonb(#"{"a": [1, "ü"]}"#), "jsonb", #"{"a": [1, "ü"]}"#)
            try await check(.jsonb("1"), "json", "1")
            try await check(.textArray([]), "text[]", [String]())
            try await check(.textArray(["a", "", "ü,{}\""]), "text[]", ["a", "", "ü,{}\""])
            try await check(.textArray(["a", nil, ""]), "text[]", ["a", nil, ""] as [String?])
            try await check(.uuidArray([]), "uuid[]", [UUID]())
            try await check(.uuidArray(uuids), "uuid[]", uuids)
            try await check(.int8Array([]), "int8[]", [Int64]())
            try await check(.int8Array([.min, 0, .max]), "int8[]", [Int64]([.min, 0, .max]))
            try await check(.bytesArray([]), "bytea[]", [[UInt8]]())
            try await check(.bytesArray([[], [0], [1, 2]]), "bytea[]", [[], [0], [1, 2]] as [[UInt8]])
        }
    }

    @Test("the server interprets sent values correctly")
    func serverSide() async throws {
        try await withPool { pool async throws in
            #expect(
                try await pool.value("SELECT $1::timestamptz::text", [.timestamp(PostgresTimestamp(microseconds: 0))])
                    == "1970-01-01 00:00:00+00")
            #expect(
                try await pool.value(
                    "SELECT $1::timestamptz::text", [.timestamp(PostgresTimestamp(microseconds: .max))]) == "infinity")
            #expect(try await pool.value("SELECT cardinality($1::text[])", [.textArray(["a", nil])]) == Int32(2))
            #expect(
                try await pool.value("SELECT ($1::uuid[])[1]::text", [.uuidArray([UUID(uuid: UUID_NULL)])])
                    == "00000000-0000-0000-0000-000000000000")
            #expect(try await pool.value("SELECT 1.5::float8", as: Double.self) == 1.5)
            #expect(try await pool.value("SELECT 1.5::float4", as: Double.self) == 1.5)
            #expect(try await pool.value("SELECT length($1::bytea)", [.bytes([0, 0, 0])]) == Int32(3))
        }
    }

    @Test("a parameter has the type of its value, regardless of earlier values")
    func parameterTypes() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            #expect(try await pool.value("SELECT ($1 >> 33)::int8", [.int8(1 << 40)]) == Int64(128))
            #expect(try await pool.value("SELECT 7::int4 = $1", [.int8(7)]))
            let sql = "SELECT coalesce($1, $2)::text"
            #expect(try await pool.value(sql, [.null, .text("a")]) == "a")
            #expect(try await pool.value(sql, [.int8(5), .int8(6)]) == "5")
            #expect(try await pool.value(sql, [.null, .int8(6)]) == "6")
            #expect(try await pool.value(sql, [.text("8"), .null]) == "8")
            #expect(try await pool.value("SELECT $1 ->> 'a'", [.jsonb(#"{"a": "b"}"#)]) == "b")
        }
    }

    @Test("eight megabytes of bytes and of text survive a round trip")
    func large() async throws {
        try await withPool { pool async throws in
            let bytes = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(try await pool.value("SELECT $1::bytea", [.bytes(bytes)]) == bytes)
            let text = String(repeating: "äöü", count: 1_000_000)
            #expect(try await pool.value("SELECT $1::text", [.text(text)]) == text)
        }
    }

    @Test("NULL is nil for an optional, and otherwise an error that names the column")
    func nulls() async throws {
        try await withPool { pool async throws in
            let rows = try await pool.sql("SELECT NULL::text AS nothing, $1::uuid, $2::int8[]", [.null, .null])
            let row = try #require(rows.first)
            #expect(try row.getOptional(0, as: String.self) == nil)
            #expect(try row.getOptional("nothing", as: String.self) == nil)
            #expect(try row.getOptional(1, as: UUID.self) == nil)
            #expect(try row.getOptional(2, as: [Int64].self) == nil)
            let error = try #require(throws: PostgresError.self) { try row.get("nothing", as: String.self) }
            #expect(error.code == .decoding)
            #expect(error.column?.contains("nothing") == true)
        }
    }

    @Test("a wrong type or column is an error, never a crash")
    func wrongTypes() async throws {
        try await withPool { pool async throws in
            let rows = try await pool.sql(
                "SELECT 'x'::text AS a, 1::int8 AS b, ARRAY[[1,2],[3,4]]::int8[] AS c, ARRAY['a',NULL] AS d, 1::numeric AS e"
            )
            let row = try #require(rows.first)
            #expect(throws: PostgresError.self) { try row.get("a", as: Int64.self) }
            #expect(throws: PostgresError.self) { try row.get("a", as: UUID.self) }
            #expect(throws: PostgresError.self) { try row.get("a", as: [UInt8].self) }
            #expect(throws: PostgresError.self) { try row.get("b", as: String.self) }
            #expect(throws: PostgresError.self) { try row.get("b", as: Int32.self) }
            #expect(throws: PostgresError.self) { try row.get("c", as: [Int64].self) }
            #expect(throws: PostgresError.self) { try row.get("d", as: [String].self) }
            #expect(throws: PostgresError.self) { try row.get("e", as: Double.self) }
            #expect(throws: PostgresError.self) { try row.getOptional("A", as: String.self) }
            #expect(throws: PostgresError.self) { try row.get(-1, as: String.self) }
            #expect(throws: PostgresError.self) { try row.get(5, as: String.self) }
            #expect(rows.columnNames == ["a", "b", "c", "d", "e"])
        }
    }

    @Test("rows are a collection and outlive the pool")
    func rows() async throws {
        let rows = try await withPool { pool async throws in
            try await pool.sql("SELECT g::int8 AS n, 'row ' || g AS t FROM generate_series(1, 1000) g")
        }
        #expect(rows.count == 1000)
        #expect(rows.affectedRows == 1000)
        #expect(try rows.map { try $0.get("n", as: Int.self) } == Array(1...1000))
        #expect(try rows.last?.get(1) == "row 1000")
        #expect(try rows[10...12].map { try $0.get(0, as: Int64.self) } == [11, 12, 13])
    }
}

private let UUID_NULL: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
