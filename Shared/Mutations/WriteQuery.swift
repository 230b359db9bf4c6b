// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

/// A writing function, its parameters and its result columns in one type, in which each has a name. See
/// ``Postgres/PostgresQuery``.
public protocol WriteQuery: Sendable {
    /// The result columns of the function.
    associatedtype Columns: ColumnSet = NoColumns

    /// A row of the function's result. See ``Postgres/PostgresQuery/Row``.
    associatedtype Row: Decodable & Sendable = NoColumns

    /// The statements that call the function, without and with an idempotency key.
    static var statement: WriteStatement { get }

    /// The values of `$1`, `$2`, … of the function.
    var parameters: [Value] { get }
}

extension WriteQuery {
    /// Returns the statement to send, and its parameters.
    /// - Parameter isRecorded: true if the change may have to be recorded for webhooks.
    public func statement(
        by user: UserID, in app: AppID, as idempotencyKey: IdempotencyKey?, isRecorded: Bool = false
    ) -> (statement: Statement, parameters: [Value]) {
        guard let idempotencyKey else {
            return (isRecorded ? Self.statement.directRecorded : Self.statement.direct, parameters)
        }
        return (
            isRecorded ? Self.statement.idempotentRecorded : Self.statement.idempotent,
            Self.statement.idempotentParameters(parameters, by: user, in: app, as: idempotencyKey)
        )
    }
}

extension UntypedWriteResult {
    /// Returns the columns of this query's rows.
    /// - Throws: the error of the column lookup.
    public func columns<Query: WriteQuery>(of query: Query.Type) throws(PostgresError) -> Query.Columns {
        try rows.columns(Query.Columns.self)
    }
}
