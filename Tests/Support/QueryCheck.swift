// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
package import Mutations
public import Postgres
import Schema
import StrataModel

/// A comparison of queries with the server's description of their statements: the number and types of parameters, and
/// the columns of the rows.
public struct QueryCheck: Sendable {
    private struct Form: Sendable {
        let statement: Statement
        let parameters: [Value]
    }

    private let forms: [Form]
    private let row: any (Decodable & Sendable).Type
    private let unread: Set<String>

    /// - Parameters:
    ///   - query: An example without NULL, which has no type.
    ///   - unread: Columns that the statement returns and that are not read.
    public init<Query: PostgresQuery>(_ query: Query, unread: Set<String> = []) {
        forms = [Form(statement: Query.statement, parameters: query.parameters)]
        row = Query.Row.self
        self.unread = unread
    }

    /// Checks the statements of a writing function: plain, with an idempotency key, and each of them with recording for
    /// webhooks.
    /// - Parameter query: An example without NULL, which has no type.
    package init<Query: WriteQuery>(_ query: Query) {
        let idempotencyKey = IdempotencyKey(id: UUID(), fingerprint: 1)
        let idempotent = query.statement(by: UserID(trusted: "ana"), in: AppID(rawValue: UUID()), as: idempotencyKey)
        let (recorded, idempotentRecorded) = (Query.statement.directRecorded, Query.statement.idempotentRecorded)
        forms =
            [
                Form(statement: Query.statement.direct, parameters: query.parameters),
                Form(statement: idempotent.statement, parameters: idempotent.parameters),
            ]
            + (Query.statement.direct.batchStatement.map {
                [Form(statement: $0, parameters: query.parameters.map(\.batch))]
            } ?? [])
            + (recorded.name == Query.statement.direct.name
                ? []
                : [
                    Form(statement: recorded, parameters: query.parameters),
                    Form(statement: idempotentRecorded, parameters: idempotent.parameters),
                ])
        row = Query.Row.self
        // WriteResult reads these columns of a change with an idempotency key.
        unread = ["told_position", "told_user_position", "execution"]
    }

    /// The checked statements.
    public var statements: [Statement] { forms.map(\.statement) }

    /// Runs the checks in a new database, and returns the differences, one line each.
    public static func differences(_ checks: [QueryCheck]) async throws -> [String] {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await TestServers.postgres()))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        var differences: [String] = []
        for check in checks { differences += try await check.differences(by: migrator) }
        return differences
    }

    /// Returns the differences of this check.
    /// - Throws: `PostgresError` that names a missing column, or one of another type.
    private func differences(by migrator: Migrator) async throws -> [String] {
        var differences: [String] = []
        for form in forms {
            guard let described = try await migrator.describe([form.statement]).first else { continue }
            differences += Self.differences(between: form, and: described)
            // The rows are not read.
            if row is NoColumns.Type { continue }
            let read = try await migrator.check(row, of: form.statement)
            let rest = Set(described.columns.map(\.name)).subtracting(read).subtracting(unread)
            if !rest.isEmpty {
                differences.append("\(form.statement.name) returns \(rest.sorted()), which \(row) does not read")
            }
        }
        return differences
    }

    /// Returns the differences between the given parameters and the server's types.
    private static func differences(between form: Form, and described: StatementDescription) -> [String] {
        let (given, wanted) = (form.parameters, described.parameters)
        guard given.count == wanted.count else {
            return ["\(form.statement.name) is given \(given.count) parameters, and has \(wanted.count)"]
        }
        // With an idempotency key, the app is not a parameter of the function. Its parameter does not occur in the SQL
        // text and has no type.
        let occurring = Set(form.statement.sql.matches(of: /\$(\d+)/).compactMap { Int($0.1) })
        return zip(given, wanted).enumerated()
            .filter { occurring.contains($0.offset + 1) && !$0.element.0.types.contains($0.element.1) }
            .map {
                "\(form.statement.name) is given \($0.element.0) as $\($0.offset + 1), which is of type \($0.element.1)"
            }
    }
}

extension Value {
    /// The parameter of a batch with one execution that has this parameter.
    fileprivate var batch: Value {
        switch self {
        case .text(let text): .textArray([text])
        case .uuid(let uuid): .uuidArray([uuid])
        case .int8(let number): .int8Array([number])
        case .bytes(let bytes): .bytesArray([bytes])
        default: self
        }
    }

    /// The SQL types of parameters that accept the value.
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
