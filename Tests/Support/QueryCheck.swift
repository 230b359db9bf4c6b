// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
package import Mutations
public import Postgres
import Schema
import StrataModel

/// Compares queries with what the server makes of their statements: the number and the types of their parameters, and the columns of their rows.
public struct QueryCheck: Sendable {
    private struct Form: Sendable {
        let statement: Statement
        let parameters: [Value]
    }

    private let forms: [Form]
    private let columns: [any ColumnSet.Type]
    private let unread: Set<String>

    /// - Parameters:
    ///   - query: an example without NULL, which would tell no type.
    ///   - others: what its rows are read by besides its own columns.
    ///   - unread: columns that its statement returns and that are not read.
    public init<Query: PostgresQuery>(_ query: Query, others: [any ColumnSet.Type] = [], unread: Set<String> = []) {
        forms = [Form(statement: Query.statement, parameters: query.parameters)]
        columns = [Query.Columns.self] + others
        self.unread = unread
    }

    /// A writing function, as it is and under the name of a change, and both recorded for webhooks.
    /// - Parameter query: an example without NULL, which would tell no type.
    package init<Query: WriteQuery>(_ query: Query) {
        let mutation = Mutation(id: UUID(), fingerprint: 1)
        let once = query.asked(by: UserID(trusted: "ana"), in: AppID(rawValue: UUID()), as: mutation)
        let (recorded, onceRecorded) = (Query.statement.plainRecorded, Query.statement.onceRecorded)
        forms =
            [
                Form(statement: Query.statement.plain, parameters: query.parameters), Form(statement: once.statement, parameters: once.parameters),
            ]
            + (recorded.name == Query.statement.plain.name
                ? []
                : [Form(statement: recorded, parameters: query.parameters), Form(statement: onceRecorded, parameters: once.parameters)])
        columns = [Query.Columns.self]
        // Those of a change with a name are read by Written.
        unread = ["told_position", "told_user_position"]
    }

    /// The statements that are checked.
    public var statements: [Statement] { forms.map(\.statement) }

    /// What all of these checks find in a database of their own, one line each.
    public static func differences(_ checks: [QueryCheck]) async throws -> [String] {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await TestServers.postgres()))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        var differences: [String] = []
        for check in checks { differences += try await check.differences(by: migrator) }
        return differences
    }

    /// - Throws: `PostgresError` naming the column that a statement lacks, or whose type is another.
    private func differences(by migrator: Migrator) async throws -> [String] {
        var differences: [String] = []
        for form in forms {
            guard let described = try await migrator.describe([form.statement]).first else { continue }
            differences += Self.differences(between: form, and: described)
            // Its rows are not read.
            if columns.contains(where: { $0 is NoColumns.Type }) { continue }
            var read: [String] = []
            for columns in columns { read += try await migrator.check(columns, of: form.statement) }
            let rest = Set(described.columns.map(\.name)).subtracting(read).subtracting(unread)
            if !rest.isEmpty { differences.append("\(form.statement.name) returns \(rest.sorted()), which \(columns) do not read") }
        }
        return differences
    }

    /// How the parameters are not as the server wants them.
    private static func differences(between form: Form, and described: StatementDescription) -> [String] {
        let (given, wanted) = (form.parameters, described.parameters)
        guard given.count == wanted.count else {
            return ["\(form.statement.name) is given \(given.count) parameters, and has \(wanted.count)"]
        }
        // Under the name of a change the app is not that of the function: its parameter does not occur, and so has no type.
        let occurring = Set(form.statement.sql.matches(of: /\$(\d+)/).compactMap { Int($0.1) })
        return zip(given, wanted).enumerated()
            .filter { occurring.contains($0.offset + 1) && !$0.element.0.types.contains($0.element.1) }
            .map { "\(form.statement.name) is given \($0.element.0) as $\($0.offset + 1), which is of type \($0.element.1)" }
    }
}

extension Value {
    /// The types of parameters for which it is meant, as SQL writes them.
    fileprivate var types: Set<String> {
        switch self {
        case .null: []
        case .text: ["text"]
        case .uuid: ["uuid"]
        case .int8: ["bigint"]
        case .int4: ["integer"]
        case .bool: ["boolean"]
        case .bytes: ["bytea"]
        case .timestamp: ["timestamp with time zone"]
        case .jsonb: ["jsonb"]
        case .textArray: ["text[]"]
        case .uuidArray: ["uuid[]"]
        case .int8Array: ["bigint[]"]
        case .bytesArray: ["bytea[]"]
        }
    }
}
