// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A named SQL statement, prepared at most once on each connection.
///
/// Declare statements as constants. A name must always denote the same text within a process; another text under the
/// same name fails with ``PostgresError/Code/configuration``. The name labels metrics and errors, and must not contain
/// user data.
public struct Statement: Sendable, Hashable {
    /// The statement's name, for example `message.insert`.
    public let name: String
    /// One SQL statement with parameters `$1`, `$2`, …, without transaction control.
    public let sql: String
    /// True if running the statement twice has the effect of running it once. It is then repeated if its connection is
    /// lost.
    public let isIdempotent: Bool

    /// Creates a statement.
    public init(_ name: String, sql: String, isIdempotent: Bool = false) {
        self.name = name
        self.sql = sql
        self.isIdempotent = isIdempotent
    }
}

extension UInt64 {
    /// Creates the lock key of the object with this id, equal in all processes and on all machines.
    ///
    /// It hashes all 128 bits. Two ids with the same key keep their order of arrival within a group.
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
