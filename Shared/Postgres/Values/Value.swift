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
