// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// One parameter of a statement.
///
/// A value has the type its case says, and is cast like any expression of that type: an `int8` can be compared with an `int4` column and assigned to
/// it. Only `text` and `null` leave the type to the server's inference: so `text` also serves enums, `inet` and whatever else has a text form, and
/// `$1::uuid` has to be written where nothing else tells the type of a `null`.
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
    /// `timestamptz` (or `timestamp`, read as UTC)
    case timestamp(Timestamp)
    /// `jsonb` or `json`, as text
    case jsonb(String)
    /// `text[]`, `nil` being a NULL element
    case textArray([String?])
    /// `uuid[]`
    case uuidArray([UUID])
    /// `int8[]`
    case int8Array([Int64])
    /// `bytea[]`
    case bytesArray([[UInt8]])
}
