// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TestTiers
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(2)))
struct BatchTests {
    /// A table, and a function that inserts several rows. It leaves negative ids out, and fails for the id 13.
    private static let script = """
        CREATE TABLE item (id int8 PRIMARY KEY, name text, xid xid8, CHECK (id <> 13));
        CREATE FUNCTION put_all(ids int8[], names text[])
            RETURNS TABLE (execution int8, name text, xid text, is_batch bool)
        LANGUAGE sql VOLATILE AS $$
            WITH put AS (
                INSERT INTO item
                SELECT u.id, u.name, pg_current_xact_id() FROM unnest(ids, names) u(id, name) WHERE u.id > 0
                RETURNING id)
            -- The rows are not in the order of the arrays.
            SELECT u.n, u.name, pg_current_xact_id()::text, true
            FROM put JOIN unnest(ids, names) WITH ORDINALITY u(id, name, n) ON u.id = put.id ORDER BY u.n DESC
        $$
        """

    private static let put = Statement(
        "put",
        sql: """
            INSERT INTO item VALUES ($1, $2, pg_current_xact_id())
            RETURNING name, pg_current_xact_id()::text AS xid, false AS is_batch
            """,
        batch: Statement.Batch(
            sql: "SELECT execution, name, xid, is_batch FROM put_all($1, $2)", elements: [.int8, .text], minimum: 4))

    private struct Put: Decodable {
        let name: String?
        let xid: String
        let isBatch: Bool
    }

    /// Runs ``put`` for each id in one group. The name of an even id is NULL.
    private static func put(_ ids: [Int64]) async throws -> [Result<Put, PostgresError>] {
        try await withPool(setUp: script, configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { gate async throws in
                try await gate.group(pool, ids.count) { index throws(PostgresError) in
                    let name: Value = ids[index] % 2 == 0 ? .null : .text("item \(ids[index])")
                    let rows = try await pool.query(
                        put, with: [.int8(ids[index]), name], deadline: .now.advanced(by: .seconds(30)))
                    guard rows.count == 1, let row = try rows.decoded(as: Put.self).first,
                        try rows.first?.getOptional("name", as: String.self) == row.name
                    else { throw PostgresError(code: .decoding, reason: "not one row") }
                    return row
                }
            }
        }
    }

    @Test("executions of a statement that wait together run as its batch, and each gets its own row")
    func batch() async throws {
        let rows = try await Self.put(Array(1...12)).map { try $0.get() }
        #expect(rows.map(\.name) == (1...12).map { $0 % 2 == 0 ? nil : "item \($0)" })
        #expect(rows.map(\.isBatch) == rows.map { _ in true })
        #expect(Set(rows.map(\.xid)).count == 1)
    }

    @Test("fewer executions than the minimum do not run as a batch")
    func few() async throws {
        let rows = try await Self.put([1, 2, 3]).map { try $0.get() }
        #expect(rows.map(\.isBatch) == [false, false, false])
    }

    @Test("executions that a batch leaves out run individually")
    func leftOut() async throws {
        let ids: [Int64] = [1, -1, 2, -3, 5, 7]
        let rows = try await Self.put(ids).map { try $0.get() }
        #expect(rows.map(\.isBatch) == ids.map { $0 > 0 })
        #expect(rows.map(\.name) == ["item 1", "item -1", nil, "item -3", "item 5", "item 7"])
    }

    @Test("the executions of a batch that fails run individually, and only the one at fault fails")
    func fails() async throws {
        let results = try await Self.put([1, 3, 13, 5, 7])
        for (index, result) in results.enumerated() {
            switch result {
            case .success(let row): #expect(index != 2 && !row.isBatch)
            case .failure(let error): #expect(index == 2 && error.sqlState == "23514")
            }
        }
    }
}
