// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A statement of SQL with a name, prepared at most once on each connection.
///
/// Declare statements as constants: one name stands for one text in a process (another text under the same name is refused with
/// ``PostgresError/Code/configuration``). The name labels metrics and errors, and never contains user data.
public struct Statement: Sendable, Hashable {
    /// The statement's name, for instance `message.insert`.
    public let name: String
    /// One SQL statement with parameters `$1`, `$2`, …; no transaction control in it.
    public let sql: String
    /// Whether running it twice is the same as running it once. Such a statement is repeated when its connection is lost under it.
    public let isIdempotent: Bool

    /// Declares a statement.
    public init(_ name: String, sql: String, isIdempotent: Bool = false) {
        self.name = name
        self.sql = sql
        self.isIdempotent = isIdempotent
    }
}

extension UInt64 {
    /// The lock key of what `uuid` names, equal in every process and on every machine.
    ///
    /// All 128 bits take part. Should two identifiers ever share a key, their order within a group is that of arrival.
    public init(hashing uuid: UUID) {
        let (high, low) = withUnsafeBytes(of: uuid.uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        var mixed = high ^ (low &* 0x9E37_79B9_7F4A_7C15)
        mixed ^= mixed >> 32
        mixed = mixed &* 0xD6E8_FEB8_6659_FD93
        self = mixed ^ (mixed >> 32)
    }
}
