// SPDX-License-Identifier: Apache-2.0

/// A step of the database's schema. It never changes after it has been applied anywhere.
public struct Migration: Sendable, Hashable {
    /// The position in the order of migrations: unique and positive.
    public let version: Int
    /// A short name for humans.
    public let name: String
    /// The SQL text: any number of statements, function bodies included, without transaction control. It is applied
    /// atomically.
    public let sql: String

    /// Creates a migration.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    var label: String { "\(version) (\(name))" }
}

/// A plan of the migrations that a database needs, computed without access to it.
struct MigrationPlan: Sendable {
    struct Applied {
        let name: String
        let checksum: String
    }

    /// The migrations to apply, in order.
    let pending: [Migration]

    /// Creates a plan from the applied migrations by version. Unknown versions are ignored, because they come from a
    /// newer release.
    ///
    /// Throws:
    /// - ``PostgresError/Code/migration`` if versions repeat, or if a migration was changed after it was applied or is
    ///   older than an applied one.
    /// - ``PostgresError/Code/otherSchema`` if the database has another name for a migration of this version.
    init(_ migrations: [Migration], applied: [Int: Applied], checksums: [Int: String]) throws(PostgresError) {
        let ordered = migrations.sorted { $0.version < $1.version }
        for (first, second) in zip(ordered, ordered.dropFirst()) where first.version == second.version {
            throw Self.error("migrations \(first.label) and \(second.label) have the same version")
        }
        if let first = ordered.first, first.version < 1 || first.version > Int(Int32.max) {
            throw Self.error("migration \(first.label) has a version that is not positive")
        }
        let newest = applied.keys.max() ?? 0
        var pending: [Migration] = []
        for migration in ordered {
            if let before = applied[migration.version] {
                guard before.name == migration.name else {
                    throw PostgresError(
                        code: .otherSchema, reason: "migration \(migration.label) is \(before.name) in this database")
                }
                guard before.checksum == checksums[migration.version] else {
                    throw Self.error("migration \(migration.label) was changed after it had been applied")
                }
            } else if migration.version < newest {
                throw Self.error("migration \(migration.label) comes too late: version \(newest) has been applied")
            } else {
                pending.append(migration)
            }
        }
        self.pending = pending
    }

    static func error(_ reason: String) -> PostgresError {
        PostgresError(code: .migration, reason: reason)
    }
}

/// The current functions of a database. Unlike migrations, these texts are edited.
///
/// A migrator executes all files if their text differs from the last executed one
/// (``Migrator/migrate(_:functions:logger:)``). Every statement must therefore be repeatable: `CREATE OR REPLACE
/// FUNCTION`, `CREATE OR REPLACE VIEW`, `GRANT`. Names include their schemas, because the search path is empty. Only
/// the owner, and roles to which the files grant it, may execute a function.
public struct FunctionSet: Sendable, Hashable {
    /// A file with some of the functions.
    public struct File: Sendable, Hashable {
        /// A short name for humans.
        public let name: String
        /// The SQL text: any number of statements, without transaction control.
        public let sql: String

        /// Creates a file.
        public init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// The revision, which increases with every release that changes a file. A migrator leaves functions of a higher
    /// revision unchanged, so that the previous release does not revert those of the next one.
    public let revision: Int
    /// The files, in the order of execution.
    public let files: [File]

    /// Creates a set.
    public init(revision: Int, files: [File]) {
        self.revision = revision
        self.files = files
    }

    /// The names and texts of the files, from which the checksum is computed.
    var text: String { files.map { "-- \($0.name)\n\($0.sql)" }.joined(separator: "\n") }
}

/// The result of a migration run.
public struct MigrationReport: Sendable, Hashable {
    /// The applied migrations, in order.
    public let steps: [Migration]
    /// True if the function files were executed.
    public let replacedFunctions: Bool
}
