// SPDX-License-Identifier: Apache-2.0

/// A replacement of a database's functions by those of a set, inside a transaction that the caller has begun.
///
/// Functions are replaced in place, so that sessions can continue to use them. Functions that earlier files defined and
/// the current ones do not are dropped. Functions from other sources are left unchanged.
struct FunctionReplacement {
    let session: MigrationSession
    let set: FunctionSet

    struct Record {
        let revision: Int
        let checksum: String
    }

    static let table = """
        CREATE SCHEMA IF NOT EXISTS strata;
        CREATE TABLE IF NOT EXISTS strata.schema_functions (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            revision int4 NOT NULL,
            checksum text NOT NULL,
            defined text[] NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        """

    /// The server's errors that require dropping functions first:
    ///
    /// - A function with a changed result type or parameter names cannot be replaced in place.
    /// - A removed function cannot be dropped while the parsed body of another one refers to it.
    /// - A call in such a body is ambiguous if it fits both a function and its longer replacement.
    private static let needsDrop: Set = [
        SQLState.invalidFunctionDefinition, SQLState.dependentObjectsStillExist, SQLState.ambiguousFunction,
    ]

    /// A statement that makes the server write names with their schemas.
    private static let qualifiedNames = "SET LOCAL search_path = pg_catalog, pg_temp"

    /// A query for the routines outside the system's schemas: `name` with the schema, `identity` with the argument
    /// types.
    private static let routines = """
        (SELECT p.oid, p.ctid::text AS place, n.nspname || '.' || p.proname AS name,
            p.oid::pg_catalog.regprocedure::text AS identity, p.proacl, p.proowner, p.prolang
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_')
        """

    /// Returns a query for the names of the functions that a script defines.
    private static func names(in parameter: String) -> String {
        """
        (SELECT pg_catalog.lower(m[1]) FROM pg_catalog.regexp_matches(\(parameter),
            'CREATE\\s+(?:OR\\s+REPLACE\\s+)?(?:FUNCTION|PROCEDURE)\\s+([a-z_][a-z0-9_]*\\.[a-z_][a-z0-9_]*)\\s*\\(',
            'gi') m)
        """
    }

    /// The owners of the functions dropped by ``dropParsed()``.
    struct Dropped {
        fileprivate let owners: [String]

        static let none = Dropped(owners: [])
        var isEmpty: Bool { owners.isEmpty }
    }

    /// Drops the functions whose bodies the server stores parsed (`RETURN …`, `BEGIN ATOMIC`), before a step alters
    /// objects that they use. PostgreSQL refuses to change a column's type, or to add a column with a default, while
    /// such a function uses the table's row type. ``run(checksum:after:)`` recreates them in the same transaction.
    func dropParsed() throws(PostgresError) -> Dropped {
        // Names are recorded with their schemas. Later steps use the session's search path, so it is restored below.
        let searchPath = try strings("SELECT pg_catalog.current_setting('search_path')")
        try session.run(script: Self.qualifiedNames)
        let parsed = try strings(
            """
            SELECT r.identity FROM \(Self.routines) r JOIN pg_catalog.pg_proc p ON p.oid = r.oid
            WHERE p.prosqlbody IS NOT NULL AND r.identity = ANY (pg_catalog.string_to_array($1, E'\\n'))
            """, with: [Self.list(try ownedFunctions())])
        let dropped = Dropped(owners: try owners(of: parsed))
        try dropReplaceable(parsed)
        _ = try session.query("SELECT pg_catalog.set_config('search_path', $1, true)", with: searchPath)
        return dropped
    }

    /// Executes the files and records them in the database.
    /// - Parameter dropped: the functions that were dropped before the steps of this transaction.
    func run(checksum: String, after dropped: Dropped = .none) throws(PostgresError) {
        try session.run(script: "\(Self.qualifiedNames); SET LOCAL check_function_bodies = off")
        let owned = try ownedFunctions()
        try revokeGrants(on: owned)
        let before = try places()
        try session.run(script: "SAVEPOINT functions")
        let defined: [String]
        do throws(PostgresError) {
            defined = try replace(owned, before: before)
        } catch {
            guard let state = error.sqlState, Self.needsDrop.contains(state) else { throw error }
            try session.run(script: "ROLLBACK TO SAVEPOINT functions")
            let owners = try owners(of: owned)
            try dropReplaceable(owned)
            defined = try replace(owned, before: before)
            try restore(owners)
        }
        try restore(dropped.owners)
        try revokeFromPublic(defined)
        try validate(defined)
        _ = try session.query(
            """
            INSERT INTO strata.schema_functions AS f (revision, checksum, defined)
            VALUES ($1::int4, $2, pg_catalog.string_to_array(nullif($3, ''), E'\\n'))
            ON CONFLICT (is_only) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
                defined = excluded.defined, applied_at = clock_timestamp()
            """, with: ["\(set.revision)", checksum, Self.list(defined)])
    }

    /// Executes the files and drops the functions that they no longer define.
    /// - Returns: the functions that the files define.
    private func replace(_ owned: [String], before: [String]) throws(PostgresError) -> [String] {
        try executeFiles()
        let defined = try definedFunctions(before: before)
        try drop(owned.filter { !Set(defined).contains($0) })
        return defined
    }

    /// Returns each function and its owning role, separated by a tab.
    private func owners(of functions: [String]) throws(PostgresError) -> [String] {
        try strings(
            """
            SELECT r.identity || E'\\t' || r.proowner::pg_catalog.regrole::text FROM \(Self.routines) r
            WHERE r.identity = ANY (pg_catalog.string_to_array($1, E'\\n'))
            """, with: [Self.list(functions)])
    }

    /// Returns recreated functions to their former owners. A recreated function belongs to the migrator's role at
    /// first.
    private func restore(_ owners: [String]) throws(PostgresError) {
        try execute(
            """
            SELECT pg_catalog.format('ALTER ROUTINE %s OWNER TO %s', r.identity, pg_catalog.split_part(o, E'\\t', 2))
            FROM pg_catalog.unnest(pg_catalog.string_to_array($1, E'\\n')) o
            JOIN \(Self.routines) r ON r.identity = pg_catalog.split_part(o, E'\\t', 1)
            WHERE r.proowner::pg_catalog.regrole::text <> pg_catalog.split_part(o, E'\\t', 2)
            """, over: owners)
    }

    /// Returns the functions that earlier files defined.
    private func ownedFunctions() throws(PostgresError) -> [String] {
        try strings(
            """
            SELECT r.identity FROM \(Self.routines) r
            WHERE r.identity IN (SELECT pg_catalog.unnest(f.defined) FROM strata.schema_functions f) ORDER BY 1
            """)
    }

    /// Revokes all grants. The files define who may execute a function, so that a grant removed from them does not
    /// persist.
    private func revokeGrants(on functions: [String]) throws(PostgresError) {
        try execute(
            """
            SELECT pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM %s', r.identity,
                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::text END)
            FROM \(Self.routines) r CROSS JOIN LATERAL pg_catalog.aclexplode(r.proacl) a
            WHERE r.identity = ANY (pg_catalog.string_to_array($1, E'\\n')) AND a.grantee <> r.proowner
            """, over: functions)
    }

    /// Returns the physical row location of each routine. Replacing a routine changes it.
    private func places() throws(PostgresError) -> [String] {
        try strings("SELECT r.oid || ' ' || r.place FROM \(Self.routines) r")
    }

    private func executeFiles() throws(PostgresError) {
        for file in set.files {
            do throws(PostgresError) {
                try session.run(script: file.sql)
            } catch {
                guard error.code == .server else { throw error }
                throw PostgresError(
                    code: .migration, sqlState: error.sqlState, reason: "function file \(file.name) failed",
                    serverDetail: error.serverDetail)
            }
            guard session.connection.isInTransaction else {
                throw MigrationPlan.error("function file \(file.name) ended its own transaction")
            }
        }
    }

    private func definedFunctions(before: [String]) throws(PostgresError) -> [String] {
        try strings(
            """
            SELECT r.identity FROM \(Self.routines) r
            WHERE r.name IN \(Self.names(in: "$1"))
                AND r.oid || ' ' || r.place <> ALL (pg_catalog.string_to_array($2, E'\\n'))
            ORDER BY 1
            """, with: [set.text, Self.list(before)])
    }

    private func revokeFromPublic(_ functions: [String]) throws(PostgresError) {
        try execute(
            """
            SELECT 'REVOKE ALL ON ROUTINE ' || f || ' FROM PUBLIC'
            FROM pg_catalog.unnest(pg_catalog.string_to_array($1, E'\\n')) f
            """,
            over: functions
        )
    }

    /// Drops functions in one statement, because they can depend on each other. Missing functions are ignored.
    private func drop(_ functions: [String]) throws(PostgresError) {
        guard !functions.isEmpty else { return }
        do throws(PostgresError) {
            try session.run(script: "DROP ROUTINE IF EXISTS \(functions.joined(separator: ", "))")
        } catch {
            guard error.code == .server else { throw error }
            throw PostgresError(
                code: .migration, sqlState: error.sqlState,
                reason: "functions that are no longer in the files could not be dropped",
                serverDetail: error.serverDetail)
        }
    }

    /// Drops those functions on which only functions of the same set depend, directly or indirectly. The files recreate
    /// them in the same transaction, so that other sessions never miss them.
    private func dropReplaceable(_ owned: [String]) throws(PostgresError) {
        try drop(
            try strings(
                """
                WITH RECURSIVE owned AS (
                    SELECT r.oid, r.identity FROM \(Self.routines) r
                    WHERE r.identity = ANY (pg_catalog.string_to_array($1, E'\\n'))
                ), kept AS (
                    SELECT w.oid FROM owned w
                    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                        AND d.refobjid = w.oid
                    WHERE d.classid <> 'pg_catalog.pg_proc'::pg_catalog.regclass
                        OR d.objid NOT IN (SELECT x.oid FROM owned x)
                    UNION
                    SELECT w.oid FROM kept k
                    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                        AND d.objid = k.oid AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                    JOIN owned w ON w.oid = d.refobjid
                )
                SELECT w.identity FROM owned w WHERE w.oid NOT IN (SELECT k.oid FROM kept k)
                """, with: [Self.list(owned)]))
    }

    /// Validates function bodies after all functions exist, because bodies can refer to any of them.
    private func validate(_ functions: [String]) throws(PostgresError) {
        try session.run(script: "SET LOCAL check_function_bodies = on")
        try execute(
            """
            SELECT pg_catalog.format('SELECT %s(%s)', l.lanvalidator::pg_catalog.regproc, r.oid)
            FROM \(Self.routines) r JOIN pg_catalog.pg_language l ON l.oid = r.prolang
            WHERE r.identity = ANY (pg_catalog.string_to_array($1, E'\\n')) AND l.lanvalidator <> 0
            """, over: functions)
    }

    /// Runs the statements that a query over these functions generates.
    private func execute(_ query: String, over functions: [String]) throws(PostgresError) {
        let statements = try strings(query, with: [Self.list(functions)])
        if !statements.isEmpty { try session.run(script: statements.joined(separator: ";\n")) }
    }

    private func strings(_ query: String, with parameters: [String] = []) throws(PostgresError) -> [String] {
        var values: [String] = []
        for row in try session.query("SELECT q.value FROM (\(query)) AS q(value)", with: parameters) {
            values.append(try row.get("value"))
        }
        return values
    }

    /// Returns the values joined by line feeds. Identities contain none, because names of functions and types do not.
    private static func list(_ values: [String]) -> String { values.joined(separator: "\n") }
}
