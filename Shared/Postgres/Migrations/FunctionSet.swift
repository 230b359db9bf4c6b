// SPDX-License-Identifier: Apache-2.0

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
