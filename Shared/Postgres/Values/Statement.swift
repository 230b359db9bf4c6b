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
    /// The form for several executions at once. nil: none.
    public let batch: Batch?

    /// A form of a statement that carries out several executions in one.
    ///
    /// Its parameters are arrays with the executions' values of the parameter of the same number. The first column of
    /// its result is the number of an execution, an `int8` from 1; the statement's columns follow. An execution has one
    /// row, or none if the batch left it out without an effect. The pool then runs it individually.
    public struct Batch: Sendable, Hashable {
        /// The type of a parameter of the statement.
        public enum Element: Sendable {
            /// `bytea`
            case bytes
            /// `int8`
            case int8
            /// `text`
            case text
            /// `uuid`
            case uuid
        }

        let sql: String
        let elements: [Element]
        let minimum: Int

        /// - Parameters:
        ///   - sql: the SQL text.
        ///   - elements: the types of the statement's parameters.
        ///   - minimum: the number of executions from which the batch is cheaper than individual executions.
        public init(sql: String, elements: [Element], minimum: Int) {
            self.sql = sql
            self.elements = elements
            self.minimum = minimum
        }
    }

    /// Creates a statement.
    public init(_ name: String, sql: String, isIdempotent: Bool = false, batch: Batch? = nil) {
        self.name = name
        self.sql = sql
        self.isIdempotent = isIdempotent
        self.batch = batch
    }

    /// The statement of ``batch``.
    package var batchStatement: Statement? {
        batch.map { Statement("\(name).batch", sql: $0.sql, isIdempotent: isIdempotent) }
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
