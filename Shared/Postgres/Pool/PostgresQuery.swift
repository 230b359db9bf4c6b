// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A statement, its parameters and the columns of its rows: one type, in which each of them has a name.
///
/// The properties are the parameters. ``parameters`` alone says which of them is `$1`, `$2`, …, and stands beside the SQL; everything else names them.
/// QueryCheck (Tests/Support) compares their number and their types, and the columns, with what the server makes of the statement.
public protocol PostgresQuery: Sendable {
    /// By which its rows are read.
    associatedtype Columns: ColumnSet

    static var statement: Statement { get }

    /// The values of `$1`, `$2`, …
    var parameters: [Value] { get }
}

/// Of a statement whose rows, if it has any, are not read.
public struct NoColumns: ColumnSet {
    /// Looks up nothing.
    public init(_ names: inout ColumnNames) throws(PostgresError) {}
}

extension PostgresPool {
    /// Runs a query and returns its rows after the commit; parameters and errors as for ``query(_:with:lockKey:user:deadline:)``.
    public func query<Query: PostgresQuery>(
        _ query: Query, lockKey: UInt64? = nil, user: UInt64? = nil, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Rows {
        try await self.query(Query.statement, with: query.parameters, lockKey: lockKey, user: user, deadline: deadline)
    }
}

extension Rows {
    /// The columns by which the rows of this query are read.
    ///
    /// Throws ``PostgresError/Code/decoding``, naming the column, if the result does not have them.
    public func columns<Query: PostgresQuery>(of query: Query.Type) throws(PostgresError) -> Query.Columns {
        try columns(Query.Columns.self)
    }
}

/// Parameters that may be NULL.
extension Value {
    /// nil is NULL.
    public init(_ text: String?) { self = text.map { .text($0) } ?? .null }

    /// nil is NULL.
    public init(_ id: UUID?) { self = id.map { .uuid($0) } ?? .null }

    /// nil is NULL.
    public init(_ number: Int64?) { self = number.map { .int8($0) } ?? .null }

    /// nil is NULL.
    public init(_ number: Int?) { self = number.map { .int8(Int64($0)) } ?? .null }

    /// The number of the same bits; nil is NULL.
    public init(_ number: UInt64?) { self = number.map { .int8(Int64(bitPattern: $0)) } ?? .null }

    /// nil is NULL.
    public init(_ time: Timestamp?) { self = time.map { .timestamp($0) } ?? .null }

    /// nil is NULL.
    public init(_ texts: [String]?) { self = texts.map { .textArray($0) } ?? .null }

    /// nil is NULL.
    public init(_ ids: [UUID]?) { self = ids.map { .uuidArray($0) } ?? .null }
}
