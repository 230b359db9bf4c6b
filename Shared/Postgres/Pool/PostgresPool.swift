// SPDX-License-Identifier: Apache-2.0

public import Logging
public import ServiceLifecycle

/// A pool with a fixed number of connections to PostgreSQL, each driven by its own thread.
///
/// Concurrent statements share a round trip and, in ``Mode/grouping``, a transaction and its commit. The pool
/// guarantees:
/// - Rows are returned after the commit, with `synchronous_commit` on.
/// - Each call succeeds or fails independently. If another member of its group fails, it runs again without that
///   member.
/// - Members of a group see each other's effects in an unspecified order and share `now()`. Use `clock_timestamp()` for
///   exact times.
/// - Every call ends at its deadline: immediately if it is queued, and within about
///   ``PostgresConfiguration/cancelGrace`` if it was sent.
/// - Without any connection, calls fail immediately. The pool reconnects automatically.
public final class PostgresPool: Service, Sendable {
    /// The ways in which statements share connections.
    public enum Mode: Sendable {
        /// Queued statements are sent in groups, each one transaction. Use it for short statements that wait for at
        /// most one lock.
        case grouping
        /// Each statement runs alone in a transaction. Use it for statements that wait for several locks or take long.
        case exclusive
    }

    let core: PoolCore

    private static let ping = Statement("ping", sql: "SELECT 1", isIdempotent: true)

    /// Creates a pool. It does nothing before ``run()``.
    public init(configuration: PostgresConfiguration, mode: Mode, logger: Logger) {
        let limits = PoolCore.Machine.Limits(
            workers: max(1, configuration.connections), queueStatements: configuration.queueLimitStatements,
            queueBytes: configuration.queueLimitBytes,
            groupStatements: mode == .grouping ? max(1, configuration.maximumGroupStatements) : 1,
            groupBytes: configuration.maximumGroupBytes)
        let label = mode == .grouping ? configuration.applicationName : "\(configuration.applicationName)-exclusive"
        core = PoolCore(configuration: configuration, limits: limits, label: label, logger: logger)
    }

    /// Runs the pool's threads until a shutdown. A graceful shutdown first finishes the queued statements. Cancelling
    /// the task fails the queued statements and only finishes those already sent.
    ///
    /// Throws ``PostgresError/Code/configuration`` naming a setting that is out of range, or
    /// ``PostgresError/Code/closed`` if called twice. An unreachable server is not an error: the pool keeps trying to
    /// connect.
    public func run() async throws {
        try core.start()
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await core.waitUntilStopped()
            } onGracefulShutdown: {
                self.core.shutDown(immediately: false)
            }
        } onCancel: {
            core.shutDown(immediately: true)
        }
    }

    /// Runs a statement and returns its rows after the commit.
    ///
    /// - Parameters:
    ///   - statement: prepared on each connection at its first use there.
    ///   - parameters: the values of `$1`, `$2`, …
    ///   - lockKey: identifies the row that the statement locks, equal wherever that row is locked (see
    ///     `UInt64.init(hashing:)`). Groups lock in the order of keys. Statements with one key never wait for each
    ///     other on different connections of a pool. `nil` for reads.
    ///   - user: a number that identifies the user. In ``Mode/exclusive``, statements of users with fewer statements in
    ///     flight go first, so that no user waits for all requests of another. `nil` goes first.
    ///   - deadline: the time until which the caller waits.
    ///
    /// Throws ``PostgresError``. Every code except ``PostgresError/Code/fateUnknown`` means that the statement had no
    /// effect.
    public func query(
        _ statement: Statement, with parameters: [Value] = [], lockKey: UInt64? = nil, user: UInt64? = nil,
        deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Rows {
        let encoded = try EncodedParameters(parameters, statement: statement.name)
        let request = Request(statement: statement, parameters: encoded, submittedAt: .now)
        let id = if let id = core.reserve() { id } else { try await reservedOnceStarted(statement, deadline: deadline) }
        let answer: Result<Rows, PostgresError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                core.submit(id, request: request, waiter: waiter, lockKey: lockKey, user: user, deadline: deadline)
            }
        } onCancel: {
            core.cancel(id)
        }
        return try answer.get()
    }

    /// Returns true if PostgreSQL answers a trivial query before the deadline.
    public func isReachable(deadline: ContinuousClock.Instant) async -> Bool {
        do {
            return try await query(Self.ping, deadline: deadline).count == 1
        } catch {
            return false
        }
    }

    /// Reserves a request id after the pool has started. Services start concurrently, so the first call may precede
    /// `run()`.
    private func reservedOnceStarted(
        _ statement: Statement, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> RequestID {
        guard ContinuousClock.now < deadline else {
            throw PostgresError(code: .deadlineExceeded, statement: statement.name)
        }
        while true {
            if let id = core.reserve() { return id }
            guard ContinuousClock.now < deadline else {
                throw PostgresError(
                    code: .connectionUnavailable, statement: statement.name, reason: "the pool is not running")
            }
            do {
                try await Task.sleep(for: .milliseconds(2))
            } catch {
                throw PostgresError(code: .cancelled, statement: statement.name)
            }
        }
    }
}
