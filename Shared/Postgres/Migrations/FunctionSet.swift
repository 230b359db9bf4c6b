// SPDX-License-Identifier: Apache-2.0

/// All functions of a database, as they are now: unlike steps, these texts are edited.
///
/// A migrator executes all files when their text is not the one it executed last (``Migrator/migrate(_:functions:logger:)``). So every statement can be
/// executed again: `CREATE OR REPLACE FUNCTION`, `CREATE OR REPLACE VIEW`, `GRANT`. Names are written with their schemas, since the search path is empty.
/// Only its owner and the roles that the files grant it to may execute a function.
public struct FunctionSet: Sendable, Hashable {
    /// Some of the functions.
    public struct File: Sendable, Hashable {
        /// A short name for people.
        public let name: String
        /// Any number of statements, without transaction control.
        public let sql: String

        /// Declares a file.
        public init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// Rises with every release that changes a file. A migrator leaves the functions of a higher revision alone, so that an executable of the release
    /// before does not take back those of the next one.
    public let revision: Int
    /// The files, in the order in which they are executed.
    public let files: [File]

    /// Declares a set.
    public init(revision: Int, files: [File]) {
        self.revision = revision
        self.files = files
    }

    /// The files' names and texts, of which the checksum is made.
    var text: String { files.map { "-- \($0.name)\n\($0.sql)" }.joined(separator: "\n") }
}

/// What a migrator did.
public struct MigrationReport: Sendable, Hashable {
    /// The steps that it applied, in order.
    public let steps: [Migration]
    /// Whether it executed the function files.
    public let replacedFunctions: Bool
}
