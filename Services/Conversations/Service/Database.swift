// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Postgres
import StrataModel

/// The service's connection pools.
struct Database: Sendable {
    /// A pool on which statements of several callers share a transaction, sorted by their lock keys.
    ///
    /// Use it for statements that lock nothing, or that lock one conversation and then wait for no other row, id or
    /// lock. Otherwise two transactions with shared statements could deadlock.
    let hot: PostgresPool
    /// A pool on which each statement runs in its own transaction. Use it for statements that may wait for a key other
    /// than a conversation's, or for several keys, or that take long.
    let exclusive: PostgresPool
    /// A pool like ``exclusive`` for large metadata, and for messages whose id another transaction is using. Other
    /// statements do not wait for these connections.
    let large: PostgresPool

    /// Runs a query on ``hot``.
    /// - Parameter lockKey: the key of the conversation that the query locks, `UInt64(hashing:)`. nil: it locks
    ///   nothing.
    /// - Throws: the failure for the client, see `Failure(postgres:)`.
    func run<Query: PostgresQuery>(
        _ query: Query, lockKey: UInt64? = nil, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [Query.Row] {
        do {
            return try await hot.query(query, lockKey: lockKey, deadline: deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Runs a query on ``exclusive``.
    /// - Throws: the failure for the client, see `Failure(postgres:)`.
    func runExclusive<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [Query.Row] {
        do {
            return try await exclusive.query(query, deadline: deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Runs a query on ``exclusive`` for a user. While other users wait, a user gets at most their share of the
    /// connections.
    func runExclusive<Query: PostgresQuery>(
        _ query: Query, for caller: Caller
    ) async throws(Failure) -> [Query.Row] {
        do {
            return try await exclusive.query(query, user: caller.fairShareKey, deadline: caller.deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }
}

extension PostgresTimestamp {
    init(_ time: StrataModel.Timestamp) { self.init(microseconds: time.microseconds) }
}
