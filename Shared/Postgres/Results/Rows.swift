// SPDX-License-Identifier: Apache-2.0

/// The rows of a result. They stay in libpq's memory and are decoded on access.
public struct Rows: Sendable, RandomAccessCollection {
    let handle: ResultHandle
    let plans: RowPlans
    /// The rows of the result that belong to this collection.
    let bounds: Range<Int>

    init(_ handle: ResultHandle, plans: RowPlans = RowPlans()) {
        self.handle = handle
        self.plans = plans
        bounds = 0..<handle.rowCount
    }

    /// Creates the row of one execution of a batch.
    private init(_ batch: Rows, at index: Int) {
        handle = batch.handle
        plans = batch.plans
        bounds = index..<index + 1
    }

    /// Divides the rows of a batch by execution.
    /// - Returns: for each execution its row, or nil if the batch left it out. If the rows are not those of a batch:
    ///   nil.
    func divided(among executions: Int) -> [Rows?]? {
        var divided = [Rows?](repeating: nil, count: executions)
        for index in indices {
            guard let number = try? self[index].get(0, as: Int64.self), (1...executions).contains(Int(number)),
                divided[Int(number) - 1] == nil
            else { return nil }
            divided[Int(number) - 1] = Rows(self, at: index)
        }
        return divided
    }

    /// The index of the first row: always 0.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { bounds.count }
    /// The number of rows that the statement inserted, changed, deleted or returned.
    public var affectedRows: Int { handle.affectedRows }
    /// The names of the columns, in order.
    public var columnNames: [String] { (0..<handle.columnCount).map { handle.columnName($0) } }

    /// Returns the row at `position`, which must be within the bounds.
    public subscript(position: Int) -> Row {
        precondition(position >= 0 && position < bounds.count, "row out of range")
        return Row(handle: handle, index: bounds.lowerBound + position)
    }
}

/// A row of a result.
public struct Row: Sendable {
    fileprivate let handle: ResultHandle
    fileprivate let index: Int

    /// Returns the value of a column, counted from 0.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if it does not exist, is NULL or has another type.
    public func get<T: PostgresDecodable>(_ column: Int, as type: T.Type = T.self) throws(PostgresError) -> T {
        guard let value = try getOptional(column, as: type) else { throw error(in: column, reason: "is null") }
        return value
    }

    /// Returns the value of a column, counted from 0, or `nil` for NULL.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if it does not exist or has another type.
    public func getOptional<T: PostgresDecodable>(_ column: Int, as type: T.Type = T.self) throws(PostgresError) -> T? {
        guard column >= 0, column < handle.columnCount else { throw error(in: column, reason: "does not exist") }
        if handle.isNull(row: index, column: column) { return nil }
        guard let value = handle.withField(row: index, column: column, { T.decode($0) }) else {
            throw error(in: column, reason: "is not a \(T.self)")
        }
        return value
    }

    /// Returns the value of the column with exactly this name. The errors are those of ``get(_:as:)-(Int,_)``.
    public func get<T: PostgresDecodable>(_ column: String, as type: T.Type = T.self) throws(PostgresError) -> T {
        try get(position(of: column), as: type)
    }

    /// Returns the value of the column with exactly this name, or `nil` for NULL. The errors are those of
    /// ``getOptional(_:as:)-(Int,_)``.
    public func getOptional<T: PostgresDecodable>(
        _ column: String, as type: T.Type = T.self
    ) throws(PostgresError) -> T? {
        try getOptional(position(of: column), as: type)
    }

    private func position(of column: String) throws(PostgresError) -> Int {
        guard let position = handle.columnIndex(column) else {
            throw PostgresError(code: .decoding, column: column, reason: "does not exist")
        }
        return position
    }

    private func error(in column: Int, reason: String) -> PostgresError {
        let name = column >= 0 && column < handle.columnCount ? "\(handle.columnName(column)) (\(column))" : "\(column)"
        return PostgresError(code: .decoding, column: name, reason: reason)
    }
}
