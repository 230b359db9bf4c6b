// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The columns of a result in the order in which a type decodes them.
struct RowPlan: Sendable {
    struct Step: Sendable {
        /// The index of the column. For an optional group: the number of its steps.
        let index: Int
        /// The type of the column. nil: an optional group begins here.
        let type: (any PostgresDecodable.Type)?
    }

    let steps: [Step]
    /// The names of the columns.
    let names: [String]

    /// Looks up the columns of a type in a result.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if one is missing or ambiguous, or if its type cannot
    /// be read as the member's type.
    init(_ type: any Decodable.Type, of result: ResultHandle) throws(PostgresError) {
        let planner = RowPlanner(columns: (0..<result.columnCount).map { (result.columnName($0), result.type($0)) })
        let decoder = RowDecoder(handle: result, steps: [], planner: planner)
        try PostgresError.decoding(type) { _ = try type.init(from: decoder) }
        (steps, names) = (planner.steps, planner.names)
    }
}

/// The plans for a statement prepared on a connection. The result's columns do not change until the statement is
/// prepared again.
final class RowPlans: Sendable {
    private let plans = Mutex<[ObjectIdentifier: RowPlan]>([:])

    func plan(for type: any Decodable.Type, of result: ResultHandle) throws(PostgresError) -> RowPlan {
        if let known = plans.withLock({ $0[ObjectIdentifier(type)] }) { return known }
        let new = try RowPlan(type, of: result)
        plans.withLock { $0[ObjectIdentifier(type)] = new }
        return new
    }
}

extension Rows {
    /// Decodes the rows. See ``PostgresQuery/Row`` for the columns of a type.
    ///
    /// Throws ``PostgresError/Code/decoding`` naming the column if it is missing or ambiguous, has an incompatible
    /// type, or is unexpectedly NULL.
    public func decoded<T: Decodable>(as type: T.Type = T.self) throws(PostgresError) -> [T] {
        let plan = try plans.plan(for: type, of: handle)
        let decoder = RowDecoder(handle: handle, steps: plan.steps, planner: nil)
        return try PostgresError.decoding(type) {
            var values: [T] = []
            values.reserveCapacity(bounds.count)
            for row in bounds {
                decoder.begin(row)
                values.append(try T(from: decoder))
            }
            return values
        }
    }
}

extension PostgresError {
    fileprivate static func decoding<T>(
        _ type: any Decodable.Type, _ body: () throws -> T
    ) throws(PostgresError) -> T {
        do {
            return try body()
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(code: .decoding, reason: "is not a \(type)")
        }
    }
}

/// A decoder of rows. It follows a plan and ignores the coding keys, or it makes a plan.
private final class RowDecoder: Decoder {
    private let handle: ResultHandle
    private let steps: [RowPlan.Step]
    /// nil: the decoder follows its plan.
    let planner: RowPlanner?
    /// The memory to which a column is decoded.
    private let memory = UnsafeMutableRawPointer.allocate(byteCount: columnSize, alignment: 16)
    @exclusivity(unchecked) private var row = 0
    @exclusivity(unchecked) private var next = 0

    init(handle: ResultHandle, steps: [RowPlan.Step], planner: RowPlanner?) {
        self.handle = handle
        self.steps = steps
        self.planner = planner
    }

    deinit { memory.deallocate() }

    /// The maximum size of the type of a column, in bytes.
    static let columnSize = 64

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unsupported }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw unsupported }

    var unsupported: PostgresError {
        PostgresError(code: .decoding, reason: "is neither a column nor a group of columns")
    }

    func begin(_ row: Int) {
        self.row = row
        next = 0
    }

    /// Decodes the next column, or a group of columns.
    func value<T: Decodable>(_ type: T.Type) throws -> T {
        guard next < steps.count, let column = steps[next].type, column == type else { return try T(from: self) }
        return try read(column)
    }

    /// Skips the next column or optional group if it is NULL. An optional group is NULL if its first column is.
    func skipsNull() -> Bool {
        guard next < steps.count else { return false }
        let step = steps[next]
        if step.type != nil {
            guard handle.isNull(row: row, column: step.index) else { return false }
            next += 1
            return true
        }
        next += 1
        guard next < steps.count, handle.isNull(row: row, column: steps[next].index) else { return false }
        next += step.index
        return true
    }

    /// Reads the next column, whose type is `T`.
    private func read<T>(_ type: any PostgresDecodable.Type) throws -> T {
        let index = steps[next].index
        next += 1
        guard !handle.isNull(row: row, column: index) else {
            throw PostgresError(code: .decoding, column: handle.columnName(index), reason: "is null")
        }
        guard handle.withField(row: row, column: index, { type.decode($0, into: memory) }) else {
            throw PostgresError(code: .decoding, column: handle.columnName(index), reason: "is not a \(T.self)")
        }
        return memory.assumingMemoryBound(to: T.self).move()
    }
}

/// The columns and groups of a type, in the order of their declaration.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: RowDecoder

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }

    func decodeNil(forKey key: Key) -> Bool { decoder.planner == nil && decoder.skipsNull() }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        guard let planner = decoder.planner else { return try decoder.value(type) }
        return try planner.add(type, key: key.stringValue, isOptional: false, of: decoder)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let planner = decoder.planner else { return decoder.skipsNull() ? nil : try decoder.value(type) }
        return try planner.add(type, key: key.stringValue, isOptional: true, of: decoder)
    }

    func nestedContainer<Nested>(keyedBy: Nested.Type, forKey: Key) throws -> KeyedDecodingContainer<Nested> {
        throw decoder.unsupported
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw decoder.unsupported }

    func superDecoder() throws -> any Decoder { throw decoder.unsupported }

    func superDecoder(forKey key: Key) throws -> any Decoder { throw decoder.unsupported }
}

/// The plan of a type while the type is decoded from examples.
private final class RowPlanner {
    private let columns: [(name: String, type: UInt32)]
    private var prefix = ""
    private(set) var steps: [RowPlan.Step] = []
    private(set) var names: [String] = []

    init(columns: [(name: String, type: UInt32)]) { self.columns = columns }

    /// Adds a column, or the columns of a group.
    /// - Returns: an example of the type. A nil would leave the rest of a group out.
    func add<T: Decodable>(_ type: T.Type, key: String, isOptional: Bool, of decoder: RowDecoder) throws -> T {
        if let column = type as? any PostgresDecodable.Type {
            let name = prefix + key.snakeCase
            steps.append(RowPlan.Step(index: try index(of: name, as: column), type: column))
            names.append(name)
            guard MemoryLayout<T>.size <= RowDecoder.columnSize, let value = column.example as? T ?? [Any]() as? T
            else {
                throw decoder.unsupported
            }
            return value
        }
        let (outer, start) = (prefix, steps.count)
        if key.hasSuffix("_") { prefix += key }
        if isOptional { steps.append(RowPlan.Step(index: 0, type: nil)) }
        let value = try T(from: decoder)
        if isOptional {
            guard steps.count > start + 1, steps[start + 1].type != nil else { throw decoder.unsupported }
            steps[start] = RowPlan.Step(index: steps.count - start - 1, type: nil)
        }
        prefix = outer
        return value
    }

    private func index(of name: String, as type: any PostgresDecodable.Type) throws(PostgresError) -> Int {
        func error(_ reason: String) -> PostgresError {
            PostgresError(code: .decoding, column: name, reason: reason)
        }
        guard let index = columns.firstIndex(where: { $0.name == name }) else { throw error("does not exist") }
        guard columns.lastIndex(where: { $0.name == name }) == index else { throw error("is there more than once") }
        guard type.columnTypes.contains(columns[index].type) else {
            throw error("is of type \(columns[index].type), not a \(type)")
        }
        return index
    }
}

extension PostgresDecodable {
    /// Any value of the type, decoded from zeros.
    fileprivate static var example: Self? {
        withUnsafeBytes(of: (0 as Int64, 0 as Int64)) { zeros in
            for size in [16, 12, 8, 4, 2, 1, 0] {
                let field = PostgresField(bytes: .init(rebasing: zeros[..<size]), type: columnTypes.first ?? 0)
                if let value = decode(field) { return value }
            }
            return nil
        }
    }
}

extension String {
    fileprivate var snakeCase: String {
        var words = ""
        for character in self {
            if character.isUppercase, words.last?.isUppercase == false { words += "_" }
            words.append(character)
        }
        return words.lowercased()
    }
}
