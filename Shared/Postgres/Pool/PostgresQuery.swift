// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A query as one type: a statement, its parameters and its rows.
///
///     struct FindName: PostgresQuery {
///         let id: UUID
///
///         static let statement = Statement(
///             "name.find", sql: "SELECT name, created_at FROM names WHERE id = $1", isIdempotent: true)
///
///         var parameters: [Value] { [.uuid(id)] }
///
///         struct Row: Decodable {
///             let name: String
///             let createdAt: PostgresTimestamp
///         }
///     }
///
/// The properties are the parameters. ``parameters`` assigns them to `$1`, `$2`, …, and stands beside the SQL; all
/// other code uses names. QueryCheck (Tests/Support) compares the parameters and the row with the server's description
/// of the statement.
public protocol PostgresQuery: Sendable {
    /// A row of the result, with the compiler's `init(from:)`.
    ///
    /// - A member whose type is ``PostgresDecodable`` is a column. The name of the column is the member's name in snake
    ///   case: `createdAt` is read from `created_at`.
    /// - Any other member is a group of columns. If the coding key of the group ends with `_`, it is the prefix of
    ///   their names. An optional group is nil if its first column is NULL.
    ///
    /// Names are looked up once for each statement prepared on a connection. Rows are then read by index. Other columns
    /// of the result are ignored, so that a later version of a function can return more of them.
    associatedtype Row: Decodable & Sendable = NoColumns

    static var statement: Statement { get }

    /// The values of `$1`, `$2`, …
    var parameters: [Value] { get }
}

/// The row of a statement whose columns are not read.
public struct NoColumns: Decodable, Sendable {}

extension PostgresPool {
    /// Runs a query and returns its rows after the commit. The parameters and errors are those of
    /// ``query(_:with:lockKey:user:deadline:)`` and ``Rows/decoded(as:)``.
    public func query<Query: PostgresQuery>(
        _ query: Query, lockKey: UInt64? = nil, user: UInt64? = nil, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [Query.Row] {
        try await self
            .query(Query.statement, with: query.parameters, lockKey: lockKey, user: user, deadline: deadline)
            .decoded()
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
