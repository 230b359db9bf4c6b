// SPDX-License-Identifier: Apache-2.0

import Logging
package import Mutations
public import Postgres
import Schema

/// Statements, the columns that their rows are read by, and those of their columns that are not read.
public struct ColumnCheck: Sendable {
    private let columns: any ColumnSet.Type
    private let statements: [Statement]
    private let unread: Set<String>

    /// - Parameter unread: columns that these statements return and that are not read by `columns`.
    public init(_ columns: any ColumnSet.Type, _ statements: Statement..., unread: Set<String> = []) {
        (self.columns, self.statements, self.unread) = (columns, statements, unread)
    }

    /// A writing function, as it is and under the name of a change.
    package init(_ columns: any ColumnSet.Type, _ writes: WriteStatement..., unread: Set<String> = []) {
        self.columns = columns
        statements = writes.flatMap { [$0.plain, $0.once] }
        // Those of a change with a name are read by Written.
        self.unread = unread.union(["told_position", "told_user_position"])
    }

    /// The names of the statements that are checked.
    public var names: [String] { statements.map(\.name) }

    /// What all of these checks find in a database of their own, one line a statement.
    public static func differences(_ checks: [ColumnCheck]) async throws -> [String] {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await TestServers.postgres()))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        var differences: [String] = []
        for check in checks { differences += try await check.differences(by: migrator) }
        return differences
    }

    /// What the server describes that is not read, one line a statement.
    /// - Throws: `PostgresError` naming the column that a statement lacks, or whose type is another.
    private func differences(by migrator: Migrator) async throws -> [String] {
        var differences: [String] = []
        for statement in statements {
            let read = try await migrator.check(columns, of: statement)
            let described = try await migrator.describe([statement])
            let rest = Set(described.flatMap { $0.columns.map(\.name) }).subtracting(read).subtracting(unread)
            if !rest.isEmpty { differences.append("\(statement.name) returns \(rest.sorted()), which \(columns) does not read") }
        }
        return differences
    }
}
