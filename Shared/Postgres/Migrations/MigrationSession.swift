// SPDX-License-Identifier: Apache-2.0

import Logging

/// The connection of a migrator, on its thread.
struct MigrationSession {
    let connection: Connection
    let cancellation: Cancellation

    func run(script: String) throws(PostgresError) {
        var flight = unlimited
        try connection.run(script: script, flight: &flight) { cancellation.isSet }
    }

    func query(_ sql: String, with parameters: [String] = []) throws(PostgresError) -> Rows {
        var flight = unlimited
        return try connection.run(sql, with: parameters, flight: &flight) { cancellation.isSet }
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
    ///
    /// The functions are replaced in the transaction of the last step: what that step changes is never seen with functions that do not know it.
    func apply(_ migrations: [Migration], functions: FunctionSet?) throws(PostgresError) -> MigrationReport {
        _ = try session.query("SELECT pg_catalog.pg_advisory_lock($1::int8)", with: [Self.lock])
        try prepareTable("strata.schema_migrations", script: Self.table)
        var applied: [Int: MigrationPlan.Applied] = [:]
        for row in try session.query("SELECT version, name, checksum FROM strata.schema_migrations") {
            applied[try row.get("version")] = MigrationPlan.Applied(name: try row.get("name"), checksum: try row.get("checksum"))
        }
        var checksums: [Int: String] = [:]
        for migration in migrations { checksums[migration.version] = try checksum(of: migration.sql, "migration \(migration.label)") }
        let plan = try MigrationPlan(migrations, applied: applied, checksums: checksums)
        var replacement: PendingReplacement?
        if let functions { replacement = try self.replacement(by: functions, steps: migrations) }
        for migration in plan.pending {
            let isLast = migration == plan.pending.last
            try apply(migration, checksum: checksums[migration.version] ?? "", replacement: isLast ? replacement : nil)
            logger.notice("migration applied", metadata: ["migration.version": "\(migration.version)", "migration.name": "\(migration.name)"])
        }
        if plan.pending.isEmpty, let replacement {
            try transaction("functions") { () throws(PostgresError) in try replacement.functions.run(checksum: replacement.checksum) }
        }
        if let replacement {
            logger.notice("functions replaced", metadata: ["functions.revision": "\(replacement.functions.set.revision)"])
        }
        return MigrationReport(steps: plan.pending, replacedFunctions: replacement != nil)
    }

    /// A role that may not create anything can still run migrations that have all been applied.
    private func prepareTable(_ name: String, script: String) throws(PostgresError) {
        let exists = try session.query("SELECT pg_catalog.to_regclass($1) IS NOT NULL AS it_is", with: [name])
        if let row = exists.first, try row.get("it_is", as: Bool.self) { return }
        try session.run(script: script)
    }

    private struct PendingReplacement {
        let functions: FunctionReplacement
        let checksum: String
    }

    /// What is to be done about the functions; nil if the database has these, or those of a newer release.
    private func replacement(by set: FunctionSet, steps: [Migration]) throws(PostgresError) -> PendingReplacement? {
        try prepareTable("strata.schema_functions", script: FunctionReplacement.table)
        let checksum = try checksum(of: set.text, "the set of functions")
        if let row = try session.query("SELECT revision, checksum FROM strata.schema_functions").first {
            let revision = try row.get("revision", as: Int.self)
            if revision > set.revision {
                logger.notice(
                    "functions of a newer release left as they are",
                    metadata: ["functions.revision": "\(revision)", "functions.own_revision": "\(set.revision)"])
                return nil
            }
            if revision == set.revision, try row.get("checksum", as: String.self) == checksum { return nil }
        }
        return PendingReplacement(functions: FunctionReplacement(session: session, set: set, steps: steps), checksum: checksum)
    }

    /// SHA-256 of the text, by the server.
    private func checksum(of text: String, _ label: String) throws(PostgresError) -> String {
        guard !text.utf8.contains(0) else { throw MigrationPlan.error("\(label) contains a NUL character") }
        let rows = try session.query(
            "SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'hex') AS checksum", with: [text])
        guard let row = rows.first else { throw MigrationPlan.error("\(label) has no checksum") }
        return try row.get("checksum")
    }

    private func apply(_ migration: Migration, checksum: String, replacement: PendingReplacement?) throws(PostgresError) {
        try transaction("migration \(migration.label)") { () throws(PostgresError) in
            try session.run(script: migration.sql)
            guard session.connection.isInTransaction else {
                throw MigrationPlan.error("migration \(migration.label) ended its own transaction")
            }
            _ = try session.query(
                "INSERT INTO strata.schema_migrations (version, name, checksum) VALUES ($1::int4, $2, $3)",
                with: ["\(migration.version)", migration.name, checksum])
            if let replacement { try replacement.functions.run(checksum: replacement.checksum) }
        }
    }

    /// An error rolls back: the connection is closed after it.
    private func transaction(_ label: String, body: () throws(PostgresError) -> Void) throws(PostgresError) {
        do throws(PostgresError) {
            try session.run(script: "BEGIN")
            try body()
            try session.run(script: "COMMIT")
        } catch {
            guard error.code == .server else { throw error }
            throw PostgresError(code: .migration, sqlState: error.sqlState, reason: "\(label) failed", serverDetail: error.serverDetail)
        }
    }
}
