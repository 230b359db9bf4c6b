// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A declaration of the columns by which a statement's rows are read.
///
///     struct NameColumns: ColumnSet {
///         let id: Column<UUID>
///         let name: Column<String>
///
///         init(_ names: inout ColumnNames) throws(PostgresError) {
///             id = try names.column("id")
///             name = try names.column("name")
///         }
///     }
///
/// Names are looked up once for each statement prepared on a connection. Rows are then read by index, without further
/// cost. A name that is missing or ambiguous in the result, or has an incompatible type, is an error before any row is
/// read.
public protocol ColumnSet: Sendable {
    /// Looks up the columns.
    init(_ names: inout ColumnNames) throws(PostgresError)
}

/// A column of a result, with a verified name and type.
public struct Column<Value: PostgresDecodable>: Sendable {
    let index: Int
}

/// The columns of a result during the lookup by a ``ColumnSet``.
public struct ColumnNames: ~Copyable {
    private let columns: [(name: String, type: UInt32)]
    /// The names that were looked up.
    package private(set) var used: [String] = []

    init(_ columns: [(name: String, type: UInt32)]) {
        self.columns = columns
    }

    /// Returns the column with exactly this name.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if it is missing or ambiguous, or if its type cannot be
    /// read as `Value`.
    public mutating func column<Value: PostgresDecodable>(
        _ name: String, as: Value.Type = Value.self
    ) throws(PostgresError) -> Column<Value> {
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            throw error(in: name, reason: "does not exist")
        }
        guard columns.lastIndex(where: { $0.name == name }) == index else {
            throw error(in: name, reason: "is there more than once")
        }
        guard Value.columnTypes.contains(columns[index].type) else {
            throw error(in: name, reason: "is of type \(columns[index].type), not a \(Value.self)")
        }
        used.append(name)
        return Column(index: index)
    }

    private func error(in column: String, reason: String) -> PostgresError {
        PostgresError(code: .decoding, column: column, reason: reason)
    }
}

/// The looked-up column sets of a statement prepared on a connection. The result's columns do not change until the
/// statement is prepared again.
final class ColumnCache: Sendable {
    let plans = RowPlans()
    private let columns = Mutex<[ObjectIdentifier: any ColumnSet]>([:])

    func columns<Columns: ColumnSet>(_ result: ResultHandle) throws(PostgresError) -> Columns {
        let type = ObjectIdentifier(Columns.self)
        if let known = columns.withLock({ $0[type] }) as? Columns { return known }
        var names = ColumnNames((0..<result.columnCount).map { (result.columnName($0), result.type($0)) })
        let new = try Columns(&names)
        columns.withLock { $0[type] = new }
        return new
    }
}

extension Rows {
    /// Returns the columns by which these rows are read.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if the result lacks it.
    public func columns<Columns: ColumnSet>(_ type: Columns.Type = Columns.self) throws(PostgresError) -> Columns {
        try cache.columns(handle)
    }
}

extension Row {
    /// The value of a column. Throws ``PostgresError/Code/decoding`` naming the column if it is NULL.
    public subscript<Value>(_ column: Column<Value>) -> Value {
        get throws(PostgresError) { try get(column.index) }
    }

    /// The value of a column, or `nil` for NULL.
    public subscript<Value>(optional column: Column<Value>) -> Value? {
        get throws(PostgresError) { try getOptional(column.index) }
    }
}
