// SPDX-License-Identifier: Apache-2.0
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A parameter of a statement.
///
/// A value has the type of its case and is converted like any expression of that type: an `int8` can be compared with
/// an `int4` column and assigned to it. Only the types of `text` and `null` are inferred by the server. Therefore
/// `text` can also be used for enums, `inet` and other types with a text form. A `null` needs a cast such as `$1::uuid`
/// if its type cannot be inferred.
public enum Value: Sendable, Hashable {
    /// SQL's NULL, of any type.
    case null
    /// A text without NUL characters, which PostgreSQL cannot store.
    case text(String)
    /// `uuid`
    case uuid(UUID)
    /// `int8`
    case int8(Int64)
    /// `int4`
    case int4(Int32)
    /// `bool`
    case bool(Bool)
    /// `bytea`
    case bytes([UInt8])
    /// `timestamptz` (or `timestamp`, interpreted as UTC)
    case timestamp(PostgresTimestamp)
    /// `jsonb` or `json`, as text
    case jsonb(String)
    /// `text[]`. A `nil` element is NULL.
    case textArray([String?])
    /// `uuid[]`
    case uuidArray([UUID])
    /// `int8[]`
    case int8Array([Int64])
    /// `bytea[]`
    case bytesArray([[UInt8]])
}

/// The object identifiers of built-in types, equal in every PostgreSQL installation.
enum OID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let unknown: UInt32 = 705
    static let nameArray: UInt32 = 1003
    static let varcharArray: UInt32 = 1015
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let bpchar: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let uuid: UInt32 = 2950
    static let uuidArray: UInt32 = 2951
    static let jsonb: UInt32 = 3802
}

extension Statement.Batch.Element {
    var oid: UInt32 {
        switch self {
        case .bytes: OID.bytea
        case .int8: OID.int8
        case .text: OID.text
        case .uuid: OID.uuid
        }
    }

    var arrayOID: UInt32 {
        switch self {
        case .bytes: OID.byteaArray
        case .int8: OID.int8Array
        case .text: OID.textArray
        case .uuid: OID.uuidArray
        }
    }
}
