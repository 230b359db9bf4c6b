// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A query as one type: a statement, its parameters and the columns of its rows.
///
/// The properties are the parameters. ``parameters`` assigns them to `$1`, `$2`, …, and stands beside the SQL; all
/// other code uses names. QueryCheck (Tests/Support) compares the parameters and columns with the server's description
/// of the statement.
public protocol PostgresQuery: Sendable {
    /// The columns by which the rows are read.
    associatedtype Columns: ColumnSet

    static var statement: Statement { get }

    /// The values of `$1`, `$2`, …
    var parameters: [Value] { get }
}

/// The columns of a statement whose rows are not read.
public struct NoColumns: ColumnSet {
    /// Creates an empty set of columns.
    public init(_ names: inout ColumnNames) throws(PostgresError) {}
}

extension PostgresPool {
    /// Runs a query and returns its rows after the commit. The parameters and errors are those of
    /// ``query(_:with:lockKey:user:deadline:)``.
    public func query<Query: PostgresQuery>(
        _ query: Query, lockKey: UInt64? = nil, user: UInt64? = nil, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Rows {
        try await self.query(Query.statement, with: query.parameters, lockKey: lockKey, user: user, deadline: deadline)
    }
}

extension Rows {
    /// Returns the columns by which the rows of this query are read.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if the result lacks it.
    public func columns<Query: PostgresQuery>(of query: Query.Type) throws(PostgresError) -> Query.Columns {
        try columns(Query.Columns.self)
    }
}

/// Parameters that may be NULL.
extension Value {
    /// Creates a text; nil is NULL.
    public init(_ text: String?) { self = text.map { .text($0) } ?? .null }

    /// Creates a `uuid`; nil is NULL.
    public init(_ id: UUID?) { self = id.map { .uuid($0) } ?? .null }

    /// Creates an `int8`; nil is NULL.
    public init(_ number: Int64?) { self = number.map { .int8($0) } ?? .null }

    /// Creates an `int8`; nil is NULL.
    public init(_ number: Int?) { self = number.map { .int8(Int64($0)) } ?? .null }

    /// Creates an `int8` with the same bits; nil is NULL.
    public init(_ number: UInt64?) { self = number.map { .int8(Int64(bitPattern: $0)) } ?? .null }

    /// Creates a `timestamptz`; nil is NULL.
    public init(_ time: PostgresTimestamp?) { self = time.map { .timestamp($0) } ?? .null }

    /// Creates a `text[]`; nil is NULL.
    public init(_ texts: [String]?) { self = texts.map { .textArray($0) } ?? .null }

    /// Creates a `uuid[]`; nil is NULL.
    public init(_ ids: [UUID]?) { self = ids.map { .uuidArray($0) } ?? .null }
}
