// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// The server's description of a statement, obtained without executing it: its parameters and result columns.
package struct StatementDescription: Sendable, Hashable, Codable {
    package struct Column: Sendable, Hashable, Codable {
        package let name: String
        /// The type as SQL spells it, for example `timestamp with time zone`.
        package let type: String

        package init(name: String, type: String) {
            self.name = name
            self.type = type
        }
    }

    /// The types of `$1`, `$2`, …, inferred if the statement does not declare them.
    package let parameters: [String]
    package let columns: [Column]

    package init(parameters: [String], columns: [Column]) {
        self.parameters = parameters
        self.columns = columns
    }
}

extension Migrator {
    /// Prepares each statement and returns the server's descriptions.
    package func describe(_ statements: [Statement]) async throws(PostgresError) -> [StatementDescription] {
        try await withConnection { session throws(PostgresError) in
            var descriptions: [StatementDescription] = []
            for statement in statements { descriptions.append(try session.describe(statement)) }
            return descriptions
        }
    }
}

extension Migrator {
    /// Prepares a statement and looks up the columns of a row in its result.
    /// - Returns: the names in the order of their lookup.
    package func check(
        _ row: any (Decodable & Sendable).Type, of statement: Statement
    ) async throws(PostgresError) -> [String] {
        try await withConnection { session throws(PostgresError) in
            do throws(PostgresError) {
                return try RowPlan(row, of: session.connection.describe(statement.sql)).names
            } catch {
                throw PostgresError(
                    code: error.code, sqlState: error.sqlState, statement: statement.name, column: error.column,
                    reason: error.reason, serverDetail: error.serverDetail)
            }
        }
    }
}

extension Migrator {
    /// Returns the privileges of a role on the functions, tables, views and columns outside the system's schemas, one
    /// line each: the privilege and its object. Privileges of PUBLIC and of inherited roles are included. A nil role
    /// means the current one.
    package func privileges(of role: String?) async throws(PostgresError) -> [String] {
        try await withConnection { session throws(PostgresError) in
            let rows = try session.query(
                """
                WITH asked(role) AS (SELECT coalesce(nullif($1, ''), current_user)::pg_catalog.name), space AS (
                    SELECT n.oid FROM pg_catalog.pg_namespace n
                    WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
                ), relation AS (
                    SELECT c.oid FROM pg_catalog.pg_class c JOIN space n ON n.oid = c.relnamespace
                    WHERE c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
                ), privilege(name) AS (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'))
                SELECT 'EXECUTE ' || p.oid::pg_catalog.regprocedure::text AS privilege
                FROM pg_catalog.pg_proc p JOIN space n ON n.oid = p.pronamespace
                WHERE pg_catalog.has_function_privilege((SELECT role FROM asked), p.oid, 'EXECUTE')
                UNION ALL
                SELECT v.name || ' ' || r.oid::pg_catalog.regclass::text FROM relation r CROSS JOIN privilege v
                WHERE pg_catalog.has_table_privilege((SELECT role FROM asked), r.oid, v.name)
                UNION ALL
                SELECT v.name || ' ' || r.oid::pg_catalog.regclass::text || '.' || a.attname FROM relation r
                JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
                CROSS JOIN privilege v
                WHERE v.name <> 'DELETE' AND NOT pg_catalog.has_table_privilege((SELECT role FROM asked), r.oid, v.name)
                    AND pg_catalog.has_column_privilege((SELECT role FROM asked), r.oid, a.attnum, v.name)
                ORDER BY 1
                """, with: [role ?? ""])
            var privileges: [String] = []
            for row in rows { privileges.append(try row.get("privilege")) }
            return privileges
        }
    }
}

extension MigrationSession {
    fileprivate func describe(_ statement: Statement) throws(PostgresError) -> StatementDescription {
        let result: ResultHandle
        do throws(PostgresError) {
            result = try connection.describe(statement.sql)
        } catch {
            throw PostgresError(
                code: error.code, sqlState: error.sqlState, statement: statement.name, serverDetail: error.serverDetail)
        }
        return StatementDescription(
            parameters: try types(result.parameterTypes),
            columns: zip(
                (0..<result.columnCount).map { result.columnName($0) },
                try types((0..<result.columnCount).map { result.type($0) })
            )
            .map { StatementDescription.Column(name: $0, type: $1) })
    }

    private func types(_ oids: [UInt32]) throws(PostgresError) -> [String] {
        var names: [String] = []
        let list = oids.map(String.init).joined(separator: ",")
        let rows = try query(
            """
            SELECT pg_catalog.format_type(o.oid::oid, NULL) AS name
            FROM pg_catalog.string_to_table($1, ',') WITH ORDINALITY o(oid, n) WHERE $1 <> '' ORDER BY o.n
            """, with: [list])
        for row in rows { names.append(try row.get("name")) }
        return names
    }
}

extension Connection {
    /// Prepares an unnamed statement and describes it. A parameter that does not occur in the statement has no type,
    /// and is declared as text.
    fileprivate func describe(_ sql: String) throws(PostgresError) -> ResultHandle {
        let occurring = Set(sql.matches(of: /\$(\d+)/).compactMap { Int($0.1) })
        let types = (0..<(occurring.max() ?? 0)).map { occurring.contains($0 + 1) ? Oid(0) : OID.text }
        guard let prepared = PQprepare(raw, "", sql, Int32(types.count), types) else {
            throw PostgresError(code: .connectionUnavailable, serverDetail: lastMessage)
        }
        defer { PQclear(prepared) }
        guard PQresultStatus(prepared) == PGRES_COMMAND_OK else { throw Self.error(from: prepared) }
        guard let described = PQdescribePrepared(raw, "") else {
            throw PostgresError(code: .connectionUnavailable, serverDetail: lastMessage)
        }
        guard PQresultStatus(described) == PGRES_COMMAND_OK else {
            defer { PQclear(described) }
            throw Self.error(from: described)
        }
        return ResultHandle(owning: described)
    }
}
