// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Decodes the binary form of an array: number of dimensions, null flag, element type, length and lower bound of each
/// dimension, elements.
private func decodeElements<Element>(
    _ field: borrowing PostgresField, accepting types: UInt32..., element: (UnsafeRawBufferPointer?) -> Element?
) -> [Element]? {
    var reader = ArrayReader(bytes: field.bytes)
    guard let dimensions = reader.int32(), reader.int32() != nil, let type = reader.int32(),
        types.contains(UInt32(bitPattern: type))
    else {
        return nil
    }
    if dimensions == 0 { return [] }
    guard dimensions == 1, let count = reader.int32(), count >= 0, reader.int32() != nil else { return nil }
    var elements: [Element] = []
    // Each element has a length field of four bytes. Reject a count that exceeds the remaining bytes.
    guard Int(count) <= field.bytes.count / 4 else { return nil }
    elements.reserveCapacity(Int(count))
    for _ in 0..<count {
        guard let length = reader.int32() else { return nil }
        let slice = length < 0 ? nil : reader.take(Int(length))
        guard length < 0 || slice != nil, let value = element(slice) else { return nil }
        elements.append(value)
    }
    return elements
}

/// A cursor over bytes that never reads past their end.
private struct ArrayReader {
    let bytes: UnsafeRawBufferPointer
    var offset = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func int32() -> Int32? {
        take(4).map { Int32(bigEndian: $0.loadUnaligned(as: Int32.self)) }
    }

    mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, bytes.count - offset >= count else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
}

extension UInt8: PostgresArrayElement {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.bytea] }

    /// Decodes `bytea`, PostgreSQL's equivalent of an array of bytes.
    public static func decodeArray(_ field: borrowing PostgresField) -> [UInt8]? {
        field.type == OID.bytea ? [UInt8](field.bytes) : nil
    }
}

extension String: PostgresArrayElement {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.textArray, OID.varcharArray, OID.nameArray] }

    /// Decodes `text[]`, `varchar[]` and `name[]` without NULL elements.
    public static func decodeArray(_ field: borrowing PostgresField) -> [String]? {
        decodeElements(field, accepting: OID.text, OID.varchar, OID.name) {
            $0.map { String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension Optional: PostgresArrayElement where Wrapped == String {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.textArray, OID.varcharArray, OID.nameArray] }

    /// Decodes `text[]`, `varchar[]` and `name[]`. A NULL element is `nil`.
    public static func decodeArray(_ field: borrowing PostgresField) -> [String?]? {
        decodeElements(field, accepting: OID.text, OID.varchar, OID.name) {
            .some($0.map { String(decoding: $0, as: UTF8.self) })
        }
    }
}

extension UUID: PostgresArrayElement {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.uuidArray] }

    /// Decodes `uuid[]` without NULL elements.
    public static func decodeArray(_ field: borrowing PostgresField) -> [UUID]? {
        decodeElements(field, accepting: OID.uuid) { $0.flatMap { UUID(postgres: $0) } }
    }
}

extension Int64: PostgresArrayElement {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.int8Array] }

    /// Decodes `int8[]` without NULL elements.
    public static func decodeArray(_ field: borrowing PostgresField) -> [Int64]? {
        decodeElements(field, accepting: OID.int8) { bytes in
            guard let bytes, bytes.count == 8 else { return nil }
            return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        }
    }
}

extension Array: PostgresArrayElement where Element == UInt8 {
    /// The types that ``decodeArray(_:)`` accepts.
    public static var arrayColumnTypes: [UInt32] { [OID.byteaArray] }

    /// Decodes `bytea[]` without NULL elements.
    public static func decodeArray(_ field: borrowing PostgresField) -> [[UInt8]]? {
        decodeElements(field, accepting: OID.bytea) { $0.map { [UInt8]($0) } }
    }
}
