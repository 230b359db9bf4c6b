// SPDX-License-Identifier: Apache-2.0

import Logging

/// A migrator's connection, confined to its thread.
struct MigrationSession {
    let connection: Connection
    let cancellation: Cancellation

    func run(script: String) throws(PostgresError) {
        var responseWait = unlimited
        try connection.run(script: script, responseWait: &responseWait) { cancellation.isSet }
    }

    func query(_ sql: String, with parameters: [String] = []) throws(PostgresError) -> Rows {
        var responseWait = unlimited
        return try connection.run(sql, with: parameters, responseWait: &responseWait) { cancellation.isSet }
    }

    /// A wait without a time limit, because migrations can take arbitrarily long.
    private var unlimited: ResponseWait {
        ResponseWait(sentAt: .now, deadline: nil, longest: nil, grace: connection.configuration.cancelGrace)
    }
}

struct MigrationRun {
    let session: MigrationSession
    let logger: Logger

    /// The advisory lock that serializes all migrators ("strata" in ASCII).
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

    /// Applies the missing migrations and replaces the functions. The advisory lock is released with the connection,
    /// even after an error.
    ///
    /// The functions are replaced in the last migration's transaction, so that its changes are never visible with
    /// outdated functions.
    func apply(_ migrations: [Migration], functions: FunctionSet?) throws(PostgresError) -> MigrationReport {
        _ = try session.query("SELECT pg_catalog.pg_advisory_lock($1::int8)", with: [Self.lock])
        try prepareTable("strata.schema_migrations", script: Self.table)
        var applied: [Int: MigrationPlan.Applied] = [:]
        for row in try session.query("SELECT version, name, checksum FROM strata.schema_migrations") {
            applied[try row.get("version")] = MigrationPlan.Applied(
                name: try row.get("name"), checksum: try row.get("checksum"))
        }
        var checksums: [Int: String] = [:]
        for migration in migrations {
            checksums[migration.version] = try checksum(of: migration.sql, "migration \(migration.label)")
        }
        let plan = try MigrationPlan(migrations, applied: applied, checksums: checksums)
        var replacement: Replacement?
        if let functions { replacement = try self.replacement(by: functions) }
        let hasReplaced = try apply(plan.pending, checksums: checksums, replacement: replacement)
        if let functions, hasReplaced {
            logger.notice("functions replaced", metadata: ["functions.revision": "\(functions.revision)"])
        }
        return MigrationReport(steps: plan.pending, replacedFunctions: hasReplaced)
    }

    /// Creates a table unless it exists. A role without the right to create can thus still run if all migrations are
    /// applied.
    private func prepareTable(_ name: String, script: String) throws(PostgresError) {
        let exists = try session.query("SELECT pg_catalog.to_regclass($1) IS NOT NULL AS it_is", with: [name])
        if let row = exists.first, try row.get("it_is", as: Bool.self) { return }
        try session.run(script: script)
    }

    private struct Replacement {
        let functions: FunctionReplacement
        let checksum: String
        /// False if the database already has these functions.
        let isNeeded: Bool

        func run(after dropped: FunctionReplacement.Dropped = .none) throws(PostgresError) {
            try functions.run(checksum: checksum, after: dropped)
        }
    }

    /// Returns the replacement of the database's functions, or nil if the database has those of a newer release.
    private func replacement(by set: FunctionSet) throws(PostgresError) -> Replacement? {
        try prepareTable("strata.schema_functions", script: FunctionReplacement.table)
        let checksum = try checksum(of: set.text, "the set of functions")
        var isNeeded = true
        if let row = try session.query("SELECT revision, checksum FROM strata.schema_functions").first {
            let revision = try row.get("revision", as: Int.self)
            if revision > set.revision {
                logger.notice(
                    "functions not replaced, installed ones are newer",
                    metadata: ["functions.revision": "\(revision)", "functions.own_revision": "\(set.revision)"])
                return nil
            }
            if revision == set.revision { isNeeded = try row.get("checksum", as: String.self) != checksum }
        }
        return Replacement(
            functions: FunctionReplacement(session: session, set: set), checksum: checksum, isNeeded: isNeeded)
    }

    /// Returns the SHA-256 of the text, computed by the server.
    private func checksum(of text: String, _ label: String) throws(PostgresError) -> String {
        guard !text.utf8.contains(0) else { throw MigrationPlan.error("\(label) contains a NUL character") }
        let rows = try session.query(
            "SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'hex') AS checksum",
            with: [text])
        guard let row = rows.first else { throw MigrationPlan.error("\(label) has no checksum") }
        return try row.get("checksum")
    }

    /// The server's errors for a step that alters objects used by a function's parsed body.
    private static let needsDrop: Set = [SQLState.featureNotSupported, SQLState.dependentObjectsStillExist]

    /// Applies steps in a transaction each, and replaces the functions in the last one's transaction.
    ///
    /// If functions with parsed bodies prevent a step from altering a table, the step runs again without these
    /// functions. They are missing until the files are executed, and the files may need all steps. Therefore this step,
    /// the later ones and the files share one transaction.
    /// - Returns: true if the files were executed.
    private func apply(
        _ steps: [Migration], checksums: [Int: String], replacement: Replacement?
    ) throws(PostgresError) -> Bool {
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
                guard !isApplied, let state = error.sqlState, Self.needsDrop.contains(state), let replacement else {
                    throw error
                }
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

    /// Applies steps and replaces the functions in one transaction, which first drops the functions with parsed bodies.
    /// - Parameter refusal: the error of the first step, rethrown if no such function exists.
    private func applyWithoutParsed(
        _ steps: ArraySlice<Migration>, checksums: [Int: String], replacement: Replacement, refusal: PostgresError
    ) throws(PostgresError) {
        try transaction("functions") { () throws(PostgresError) in
            let dropped = try replacement.functions.dropParsed()
            guard !dropped.isEmpty else { throw refusal }
            for step in steps {
                try named("migration \(step.label)") { () throws(PostgresError) in
                    try apply(step, checksum: checksums[step.version] ?? "")
                }
            }
            try replacement.run(after: dropped)
        }
        for step in steps { report(step) }
    }

    private func report(_ step: Migration) {
        logger.notice(
            "migration applied", metadata: ["migration.version": "\(step.version)", "migration.name": "\(step.name)"])
    }

    private func apply(_ step: Migration, checksum: String) throws(PostgresError) {
        try session.run(script: step.sql)
        guard session.connection.isInTransaction else {
            throw MigrationPlan.error("migration \(step.label) ended its own transaction")
        }
        _ = try session.query(
            "INSERT INTO strata.schema_migrations (version, name, checksum) VALUES ($1::int4, $2, $3)",
            with: ["\(step.version)", step.name, checksum])
    }

    /// Runs `body` in a transaction. On an error, closing the connection or the caller rolls it back.
    private func transaction(_ label: String, body: () throws(PostgresError) -> Void) throws(PostgresError) {
        try named(label) { () throws(PostgresError) in
            try session.run(script: "BEGIN")
            try body()
            try session.run(script: "COMMIT")
        }
    }

    /// Runs `body` and adds the label to an error of the server.
    private func named(_ label: String, body: () throws(PostgresError) -> Void) throws(PostgresError) {
        do throws(PostgresError) {
            try body()
        } catch {
            guard error.code == .server else { throw error }
            throw PostgresError(
                code: .migration, sqlState: error.sqlState, reason: "\(label) failed", serverDetail: error.serverDetail)
        }
    }
}
