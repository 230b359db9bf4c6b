// SPDX-License-Identifier: Apache-2.0

/// A field of a row during decoding. It cannot be kept or copied, because its bytes belong to the result.
public struct PostgresField: ~Copyable {
    let bytes: UnsafeRawBufferPointer
    let type: UInt32

    init(bytes: UnsafeRawBufferPointer, type: UInt32) {
        self.bytes = bytes
        self.type = type
    }

    /// Returns the field as a big-endian number, or nil if its size differs.
    func integer<Number: FixedWidthInteger>(as: Number.Type = Number.self) -> Number? {
        guard bytes.count == MemoryLayout<Number>.size else { return nil }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }
}

/// A type that can be decoded from a column.
///
/// Types of other modules conform to ``PostgresColumn``.
public protocol PostgresDecodable: Sendable {
    /// The column types that ``decode(_:)`` accepts.
    static var columnTypes: [UInt32] { get }
    /// Returns the field's value, or `nil` if the column's type does not match or the bytes are malformed. Never called
    /// for NULL.
    static func decode(_ field: borrowing PostgresField) -> Self?
    /// Decodes the field to uninitialized memory of this type. Each type has a specialized copy of the default
    /// implementation.
    /// - Returns: false if ``decode(_:)`` returns nil.
    static func decode(_ field: borrowing PostgresField, into memory: UnsafeMutableRawPointer) -> Bool
}

extension PostgresDecodable {
    /// Decodes the field to uninitialized memory of this type.
    public static func decode(_ field: borrowing PostgresField, into memory: UnsafeMutableRawPointer) -> Bool {
        guard let value = decode(field) else { return false }
        memory.initializeMemory(as: Self.self, to: value)
        return true
    }
}

/// A type that wraps the value of a column, for example an identifier.
public protocol PostgresColumn: PostgresDecodable, Decodable {
    /// The type of the wrapped value.
    associatedtype Column: PostgresDecodable & Decodable
    /// Wraps the value of a column.
    init(column: Column)
}

extension PostgresColumn {
    /// The types that the wrapped value accepts.
    @inlinable public static var columnTypes: [UInt32] { Column.columnTypes }

    /// Decodes the wrapped value.
    @inlinable public static func decode(_ field: borrowing PostgresField) -> Self? {
        Column.decode(field).map { Self(column: $0) }
    }

    /// Decodes the wrapped value.
    @inlinable public static func decode(
        _ field: borrowing PostgresField, into memory: UnsafeMutableRawPointer
    ) -> Bool {
        guard let value = Column.decode(field) else { return false }
        memory.initializeMemory(as: Self.self, to: Self(column: value))
        return true
    }

    /// Decodes the wrapped value.
    public init(from decoder: any Decoder) throws { self.init(column: try Column(from: decoder)) }
}

/// An element type of arrays that can be decoded from a column of a one-dimensional array type.
public protocol PostgresArrayElement: Sendable {
    /// The column types that ``decodeArray(_:)`` accepts.
    static var arrayColumnTypes: [UInt32] { get }
    /// Returns the field's elements, or `nil` if the column's type does not match or the bytes are malformed.
    static func decodeArray(_ field: borrowing PostgresField) -> [Self]?
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    /// The column types that the element type accepts.
    public static var columnTypes: [UInt32] { Element.arrayColumnTypes }

    /// Returns the field's elements, or `nil` if the column's type does not match.
    public static func decode(_ field: borrowing PostgresField) -> [Element]? {
        Element.decodeArray(field)
    }
}

/// A ``PostgresColumn`` that is also an element of arrays only has to declare it.
extension PostgresArrayElement where Self: PostgresColumn, Column: PostgresArrayElement {
    /// The types that the wrapped elements accept.
    @inlinable public static var arrayColumnTypes: [UInt32] { Column.arrayColumnTypes }

    /// Decodes and wraps the elements.
    @inlinable public static func decodeArray(_ field: borrowing PostgresField) -> [Self]? {
        Column.decodeArray(field)?.map { Self(column: $0) }
    }
}
