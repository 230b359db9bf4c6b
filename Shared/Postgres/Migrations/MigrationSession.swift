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
        var replacement: Replacement?
        if let functions { replacement = try self.replacement(by: functions) }
        let hasReplaced = try apply(plan.pending, checksums: checksums, replacement: replacement)
        if let functions, hasReplaced {
            logger.notice("functions replaced", metadata: ["functions.revision": "\(functions.revision)"])
        }
        return MigrationReport(steps: plan.pending, replacedFunctions: hasReplaced)
    }

    /// A role that may not create anything can still run migrations that have all been applied.
    private func prepareTable(_ name: String, script: String) throws(PostgresError) {
        let exists = try session.query("SELECT pg_catalog.to_regclass($1) IS NOT NULL AS it_is", with: [name])
        if let row = exists.first, try row.get("it_is", as: Bool.self) { return }
        try session.run(script: script)
    }

    private struct Replacement {
        let functions: FunctionReplacement
        let checksum: String
        /// False: the database has these functions.
        let isNeeded: Bool

        func run(after dropped: FunctionReplacement.Dropped = .none) throws(PostgresError) {
            try functions.run(checksum: checksum, after: dropped)
        }
    }

    /// The replacement of the database's functions; nil if it has those of a newer release.
    private func replacement(by set: FunctionSet) throws(PostgresError) -> Replacement? {
        try prepareTable("strata.schema_functions", script: FunctionReplacement.table)
        let checksum = try checksum(of: set.text, "the set of functions")
        var isNeeded = true
        if let row = try session.query("SELECT revision, checksum FROM strata.schema_functions").first {
            let revision = try row.get("revision", as: Int.self)
            if revision > set.revision {
                logger.notice(
                    "functions of a newer release left as they are",
                    metadata: ["functions.revision": "\(revision)", "functions.own_revision": "\(set.revision)"])
                return nil
            }
            if revision == set.revision { isNeeded = try row.get("checksum", as: String.self) != checksum }
        }
        return Replacement(functions: FunctionReplacement(session: session, set: set), checksum: checksum, isNeeded: isNeeded)
    }

    /// SHA-256 of the text, by the server.
    private func checksum(of text: String, _ label: String) throws(PostgresError) -> String {
        guard !text.utf8.contains(0) else { throw MigrationPlan.error("\(label) contains a NUL character") }
        let rows = try session.query(
            "SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'hex') AS checksum", with: [text])
        guard let row = rows.first else { throw MigrationPlan.error("\(label) has no checksum") }
        return try row.get("checksum")
    }

    /// The server's answers to a step that alters what the parsed body of a function uses.
    private static let needsDrop: Set = [SQLState.featureNotSupported, SQLState.dependentObjectsStillExist]

    /// Applies steps, each in a transaction of its own, and replaces the functions in that of the last one.
    ///
    /// A step that cannot alter a table while functions use its row type is run again without these functions. They are missing until the files have been
    /// executed, and the files may need all steps: so this step, the later ones and the files are one transaction.
    /// - Returns: whether the files were executed.
    private func apply(_ steps: [Migration], checksums: [Int: String], replacement: Replacement?) throws(PostgresError) -> Bool {
        let isNeeded = replacement?.isNeeded == true
        for (index, step) in steps.enumerated() {
            let isLast = index == steps.count - 1
            var isApplied = false
            do throws(PostgresError) {
                try transaction("migration \(step.label)") { () throws(PostgresError) in
                    try apply(step, checksum: checksums[step.version] ?? "")
                    isApplied = true
                    if isLast, isNeeded { try replacement?.run() }
                }
                report(step)
            } catch {
                guard !isApplied, let state = error.sqlState, Self.needsDrop.contains(state), let replacement else { throw error }
                try session.run(script: "ROLLBACK")
                try applyWithoutParsed(steps[index...], checksums: checksums, replacement: replacement, refusal: error)
                return true
            }
        }
        if steps.isEmpty, isNeeded {
            try transaction("functions") { () throws(PostgresError) in try replacement?.run() }
        }
        return isNeeded
    }

    /// Applies steps and replaces the functions in one transaction, which begins without the functions whose bodies are parsed.
    /// - Parameter refusal: the error of the first step, thrown again if there are no such functions.
    private func applyWithoutParsed(
        _ steps: ArraySlice<Migration>, checksums: [Int: String], replacement: Replacement, refusal: PostgresError
    ) throws(PostgresError) {
        try transaction("functions") { () throws(PostgresError) in
            let dropped = try replacement.functions.dropParsed()
            guard !dropped.isEmpty else { throw refusal }
            for step in steps {
                try named("migration \(step.label)") { () throws(PostgresError) in try apply(step, checksum: checksums[step.version] ?? "") }
            }
            try replacement.run(after: dropped)
        }
        for step in steps { report(step) }
    }

    private func report(_ step: Migration) {
        logger.notice("migration applied", metadata: ["migration.version": "\(step.version)", "migration.name": "\(step.name)"])
    }

    private func apply(_ step: Migration, checksum: String) throws(PostgresError) {
        try session.run(script: step.sql)
        guard session.connection.isInTransaction else { throw MigrationPlan.error("migration \(step.label) ended its own transaction") }
        _ = try session.query(
            "INSERT INTO strata.schema_migrations (version, name, checksum) VALUES ($1::int4, $2, $3)",
            with: ["\(step.version)", step.name, checksum])
    }

    /// An error rolls back: the connection is closed after it, or the caller does it.
    private func transaction(_ label: String, body: () throws(PostgresError) -> Void) throws(PostgresError) {
        try named(label) { () throws(PostgresError) in
            try session.run(script: "BEGIN")
            try body()
            try session.run(script: "COMMIT")
        }
    }

    /// Names the migration that the server refused.
    private func named(_ label: String, body: () throws(PostgresError) -> Void) throws(PostgresError) {
        do throws(PostgresError) {
            try body()
        } catch {
            guard error.code == .server else { throw error }
            throw PostgresError(code: .migration, sqlState: error.sqlState, reason: "\(label) failed", serverDetail: error.serverDetail)
        }
    }
}
