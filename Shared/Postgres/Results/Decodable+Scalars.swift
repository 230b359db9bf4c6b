// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension String: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] {
        [OID.text, OID.varchar, OID.bpchar, OID.name, OID.json, OID.unknown, OID.jsonb]
    }

    /// Decodes `text`, `varchar`, `char(n)`, `name`, `json` and `jsonb`.
    public static func decode(_ field: borrowing PostgresField) -> String? {
        switch field.type {
        case OID.text, OID.varchar, OID.bpchar, OID.name, OID.json, OID.unknown:
            return String(decoding: field.bytes, as: UTF8.self)
        case OID.jsonb:
            // The binary form begins with a version byte, which is always 1.
            guard field.bytes.first == 1 else { return nil }
            return String(decoding: field.bytes.dropFirst(), as: UTF8.self)
        default:
            return nil
        }
    }
}

extension Int64: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.int8, OID.int4, OID.int2] }

    /// Decodes `int8`, `int4` and `int2`.
    public static func decode(_ field: borrowing PostgresField) -> Int64? {
        switch field.type {
        case OID.int8: field.integer(as: Int64.self)
        case OID.int4: field.integer(as: Int32.self).map(Int64.init)
        case OID.int2: field.integer(as: Int16.self).map(Int64.init)
        default: nil
        }
    }
}

extension Int: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.int8, OID.int4, OID.int2] }

    /// Decodes `int8`, `int4` and `int2`.
    public static func decode(_ field: borrowing PostgresField) -> Int? {
        Int64.decode(field).map { Int($0) }
    }
}

extension Int32: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.int4, OID.int2] }

    /// Decodes `int4` and `int2`.
    public static func decode(_ field: borrowing PostgresField) -> Int32? {
        switch field.type {
        case OID.int4: field.integer(as: Int32.self)
        case OID.int2: field.integer(as: Int16.self).map(Int32.init)
        default: nil
        }
    }
}

extension Bool: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.bool] }

    /// Decodes `bool`.
    public static func decode(_ field: borrowing PostgresField) -> Bool? {
        guard field.type == OID.bool, field.bytes.count == 1 else { return nil }
        return field.bytes[0] != 0
    }
}

extension Double: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.float8, OID.float4] }

    /// Decodes `float8` and `float4`.
    public static func decode(_ field: borrowing PostgresField) -> Double? {
        switch field.type {
        case OID.float8: field.integer(as: UInt64.self).map(Double.init(bitPattern:))
        case OID.float4: field.integer(as: UInt32.self).map { Double(Float(bitPattern: $0)) }
        default: nil
        }
    }
}

extension UUID: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.uuid] }

    /// Decodes `uuid`.
    public static func decode(_ field: borrowing PostgresField) -> UUID? {
        field.type == OID.uuid ? UUID(postgres: field.bytes) : nil
    }

    init?(postgres bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension PostgresTimestamp: PostgresDecodable {
    /// The types that ``decode(_:)`` accepts.
    public static var columnTypes: [UInt32] { [OID.timestamptz, OID.timestamp] }

    /// Decodes `timestamptz`, and `timestamp` as UTC.
    public static func decode(_ field: borrowing PostgresField) -> PostgresTimestamp? {
        guard field.type == OID.timestamptz || field.type == OID.timestamp else { return nil }
        return field.integer(as: Int64.self).map(PostgresTimestamp.init(binary:))
    }
}

extension Date: PostgresColumn {
    /// Wraps a `timestamptz`.
    public init(column: PostgresTimestamp) {
        self.init(timeIntervalSince1970: Double(column.microseconds) / 1_000_000)
    }
}
