// SPDX-License-Identifier: Apache-2.0

import Logging

/// The connection of a migrator, on its thread.
struct MigrationSession {
    let connection: Connection
    let cancellation: Cancellation

    func run(script: String) throws(PostgresError) {
        var flight = unlimited
        try connection.run(script: script, &flight) { cancellation.isSet }
    }

    func query(_ sql: String, _ parameters: [String] = []) throws(PostgresError) -> Rows {
        var flight = unlimited
        return try connection.run(sql, parameters, &flight) { cancellation.isSet }
    }

    /// A migration takes as long as it takes.
    private var unlimited: Flight {
        Flight(sentAt: .now, deadline: nil, longest: nil, grace: connection.configuration.cancelGrace)
    }
}

/// One run of a migrator.
struct MigrationRun {
    let session: MigrationSession
    let logger: Logger

    /// The advisory lock of all migrators ("strata" in ASCII).
    private static let lock = "126943972913249"

    private static let table = """
        CREATE SCHEMA IF NOT EXISTS strata;
        CREATE TABLE IF NOT EXISTS strata.schema_migrations (
            version int4 PRIMARY KEY,
            name text NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        """

    /// The lock goes with the connection, whatever happens.
    func apply(_ migrations: [Migration]) throws(PostgresError) -> [Migration] {
        _ = try session.query("SELECT pg_catalog.pg_advisory_lock($1::int8)", [Self.lock])
        try prepareTable()
        var applied: [Int: String] = [:]
        for row in try session.query("SELECT version, checksum FROM strata.schema_migrations") {
            applied[try row.get(0)] = try row.get(1, as: String.self)
        }
        var checksums: [Int: String] = [:]
        for migration in migrations { checksums[migration.version] = try checksum(migration) }
        let plan = try MigrationPlan(migrations, applied: applied, checksums: checksums)
        for migration in plan.pending {
            try apply(migration, checksum: checksums[migration.version] ?? "")
            logger.notice("migration applied", metadata: ["migration.version": "\(migration.version)", "migration.name": "\(migration.name)"])
        }
        return plan.pending
    }

    /// A role that may not create anything can still run migrations that have all been applied.
    private func prepareTable() throws(PostgresError) {
        let exists = try session.query("SELECT pg_catalog.to_regclass('strata.schema_migrations') IS NOT NULL")
        if let row = exists.first, try row.get(0, as: Bool.self) { return }
        try session.run(script: Self.table)
    }

    /// SHA-256 of the text, by the server.
    private func checksum(_ migration: Migration) throws(PostgresError) -> String {
        guard !migration.sql.utf8.contains(0) else { throw MigrationPlan.error("migration \(migration.label) contains a NUL character") }
        let rows = try session.query("SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'hex')", [migration.sql])
        guard let row = rows.first else { throw MigrationPlan.error("migration \(migration.label) has no checksum") }
        return try row.get(0)
    }

    private func apply(_ migration: Migration, checksum: String) throws(PostgresError) {
        do throws(PostgresError) {
            try session.run(script: "BEGIN")
            try session.run(script: migration.sql)
            guard session.connection.isInTransaction else {
                throw MigrationPlan.error("migration \(migration.label) ended its own transaction")
            }
            _ = try session.query(
                "INSERT INTO strata.schema_migrations (version, name, checksum) VALUES ($1::int4, $2, $3)",
                ["\(migration.version)", migration.name, checksum])
            try session.run(script: "COMMIT")
        } catch {
            // The connection is closed after this, which rolls back.
            guard error.code == .server else { throw error }
            throw PostgresError(
                code: .migration, sqlState: error.sqlState, reason: "migration \(migration.label) failed", serverDetail: error.serverDetail)
        }
    }
}
