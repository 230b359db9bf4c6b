// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

/// A writing function, its parameters and the columns of its rows: one type, in which each of them has a name. See ``Postgres/PostgresQuery``.
public protocol WriteQuery: Sendable {
    /// By which its rows are read.
    associatedtype Columns: ColumnSet

    /// The function, as it is and under the name of a change.
    static var statement: WriteStatement { get }

    /// The values of `$1`, `$2`, … of the function.
    var parameters: [Value] { get }
}

extension WriteQuery {
    /// The statement to ask for and its parameters.
    /// - Parameter isRecorded: whether webhooks may have to tell of the change.
    public func asked(
        by user: UserID, in app: AppID, as mutation: Mutation?, isRecorded: Bool = false
    ) -> (statement: Statement, parameters: [Value]) {
        guard let mutation else { return (isRecorded ? Self.statement.plainRecorded : Self.statement.plain, parameters) }
        return (
            isRecorded ? Self.statement.onceRecorded : Self.statement.once, Self.statement.parametersOnce(parameters, by: user, in: app, as: mutation)
        )
    }
}

extension Written {
    /// The columns by which the rows of this query are read.
    /// - Throws: what reading the columns throws.
    public func columns<Query: WriteQuery>(of query: Query.Type) throws(PostgresError) -> Query.Columns {
        try rows.columns(Query.Columns.self)
    }
}
