// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Postgres
import StrataModel

/// The service's ways into PostgreSQL.
struct Database: Sendable {
    /// Statements of several callers share a transaction, sorted by the key they lock. For what locks nothing, and for what locks one conversation and then
    /// waits for no other row, id or lock: two transactions that share statements could wait for each other in a circle otherwise.
    let hot: PostgresPool
    /// Every statement alone in its transaction. For what may wait on another key than a conversation's, or on more than one, or takes long.
    let exclusive: PostgresPool
    /// The same, for large metadata and for messages whose id another transaction is using: no other statement waits for a connection that is busy with these.
    let large: PostgresPool

    /// Runs a query on ``hot``.
    /// - Parameter lockKey: of the conversation it locks, `UInt64(hashing:)`; nil if it locks nothing.
    /// - Throws: the failure a client is told, see `Failure(postgres:)`.
    func run(_ query: some PostgresQuery, lockKey: UInt64? = nil, deadline: ContinuousClock.Instant) async throws(Failure) -> Rows {
        do {
            return try await hot.query(query, lockKey: lockKey, deadline: deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Runs a query on ``exclusive``.
    /// - Throws: the failure a client is told, see `Failure(postgres:)`.
    func runAlone(_ query: some PostgresQuery, deadline: ContinuousClock.Instant) async throws(Failure) -> Rows {
        do {
            return try await exclusive.query(query, deadline: deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// The same on behalf of a user, who has no more than their share of the connections while other users wait.
    func runAlone(_ query: some PostgresQuery, for caller: Caller) async throws(Failure) -> Rows {
        do {
            return try await exclusive.query(query, user: caller.number, deadline: caller.deadline)
        } catch {
            throw Failure(postgres: error)
        }
    }
}

extension StrataModel.Timestamp {
    /// The same instant, as the database's client has it.
    init(_ time: Postgres.Timestamp) { self.init(microseconds: time.microseconds) }
}

extension Postgres.Timestamp {
    /// The same instant, as the model has it.
    init(_ time: StrataModel.Timestamp) { self.init(microseconds: time.microseconds) }
}
