// SPDX-License-Identifier: Apache-2.0

/// One step of the database's schema. Once it has been applied anywhere, it never changes.
public struct Migration: Sendable, Hashable {
    /// Its place in the order; unique and positive.
    public let version: Int
    /// A short name for people.
    public let name: String
    /// Any number of SQL statements, function bodies included, without transaction control: it takes effect as a whole or not at all.
    public let sql: String

    /// Declares a migration.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    var label: String { "\(version) (\(name))" }
}

/// What is to be done, given what a database has: migrations without a database.
struct MigrationPlan: Sendable {
    /// A migration that the database records as applied.
    struct Applied {
        let name: String
        let checksum: String
    }

    /// The migrations to apply, in order.
    let pending: [Migration]

    /// Makes a plan from the migrations that the database has, by version. Versions unknown here are left alone: they come from a newer release.
    ///
    /// Throws ``PostgresError/Code/migration`` if versions repeat, or if a migration was changed after it had been applied or would come too late;
    /// ``PostgresError/Code/otherSchema`` if a migration of this version has another name in the database.
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
                    throw PostgresError(code: .otherSchema, reason: "migration \(migration.label) is \(before.name) in this database")
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
