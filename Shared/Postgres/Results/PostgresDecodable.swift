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
/// Types of other modules decode by means of a conforming type, for example
/// `UUID.decode(field).map(ConversationID.init)`.
public protocol PostgresDecodable: Sendable {
    /// The column types that ``decode(_:)`` accepts.
    static var columnTypes: [UInt32] { get }
    /// Returns the field's value, or `nil` if the column's type does not match or the bytes are malformed. Never called
    /// for NULL.
    static func decode(_ field: borrowing PostgresField) -> Self?
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
