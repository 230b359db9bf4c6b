// SPDX-License-Identifier: Apache-2.0

/// One field of a row while it is being decoded. It cannot be kept or copied: its bytes belong to the result.
public struct PostgresField: ~Copyable {
    let bytes: UnsafeRawBufferPointer
    let type: UInt32

    init(bytes: UnsafeRawBufferPointer, type: UInt32) {
        self.bytes = bytes
        self.type = type
    }

    /// The field as a big-endian number, if it has exactly that size.
    func integer<Number: FixedWidthInteger>(as: Number.Type = Number.self) -> Number? {
        guard bytes.count == MemoryLayout<Number>.size else { return nil }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }
}

/// A type that a column can be read as.
///
/// Types of other modules conform by way of one that already does, for instance `UUID.decode(field).map(ConversationID.init)`.
public protocol PostgresDecodable: Sendable {
    /// The types of columns that ``decode(_:)`` reads.
    static var columnTypes: [UInt32] { get }
    /// The field's value, or `nil` if the column's type does not fit or its bytes are malformed. Never called for NULL.
    static func decode(_ field: borrowing PostgresField) -> Self?
}

/// A type that a column of a one-dimensional array type can be read as an array of.
public protocol PostgresArrayElement: Sendable {
    /// The types of columns that ``decodeArray(_:)`` reads.
    static var arrayColumnTypes: [UInt32] { get }
    /// The field's elements, or `nil` if the column's type does not fit or its bytes are malformed.
    static func decodeArray(_ field: borrowing PostgresField) -> [Self]?
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    /// Those of the elements.
    public static var columnTypes: [UInt32] { Element.arrayColumnTypes }

    /// The field's elements, or `nil` if the column's type does not fit.
    public static func decode(_ field: borrowing PostgresField) -> [Element]? {
        Element.decodeArray(field)
    }
}
