// SPDX-License-Identifier: Apache-2.0

public import Logging
public import ServiceLifecycle

/// A fixed number of connections to PostgreSQL, each driven by a thread of its own.
///
/// Statements that arrive together share a round trip and, in ``Mode/grouping``, a transaction and its commit. What a caller may rely on:
/// - Rows are returned after the commit, with `synchronous_commit` on.
/// - Each call is a transaction of its own as far as success and failure go: if another member of its group fails, it is run again without that one.
/// - Members of a group see each other's effects in no promised order, and share `now()`; use `clock_timestamp()` where time matters.
/// - Every call ends at its deadline: at once while it waits, and within about ``PostgresConfiguration/cancelGrace`` more once it has been sent.
/// - While there is no connection at all, calls fail at once; connections come back by themselves.
public final class PostgresPool: Service, Sendable {
    /// How statements share connections.
    public enum Mode: Sendable {
        /// What is queued is sent as groups, each one transaction: for short statements that wait for at most one lock.
        case grouping
        /// One statement per transaction, never grouped: for statements that wait on several keys or take long.
        case exclusive
    }

    let core: PoolCore

    private static let ping = Statement("ping", sql: "SELECT 1", isIdempotent: true)

    /// Creates a pool. Nothing happens before ``run()``.
    public init(configuration: PostgresConfiguration, mode: Mode, logger: Logger) {
        let limits = PoolCore.Machine.Limits(
            workers: max(1, configuration.connections), queueStatements: configuration.queueLimitStatements,
            queueBytes: configuration.queueLimitBytes,
            groupStatements: mode == .grouping ? max(1, configuration.maximumGroupStatements) : 1,
            groupBytes: configuration.maximumGroupBytes)
        let label = mode == .grouping ? configuration.applicationName : "\(configuration.applicationName)-exclusive"
        core = PoolCore(configuration: configuration, limits: limits, label: label, logger: logger)
    }

    /// Runs the pool's threads until a graceful shutdown, which first finishes what is queued, or until the task is cancelled, which fails what is
    /// queued and only finishes what has been sent.
    ///
    /// Throws ``PostgresError/Code/configuration`` naming a setting that is out of range, and ``PostgresError/Code/closed`` when called twice. An
    /// unreachable server is not an error: the pool keeps trying.
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
    ///   - statement: prepared on each connection when it is first used there.
    ///   - parameters: one value for each of `$1`, `$2`, …
    ///   - lockKey: names the row the statement locks, and is the same wherever that row is meant (see `UInt64.init(hashing:)`). Groups take locks in
    ///     the order of keys, and statements with one key never wait for each other on different connections of a pool. `nil` for reads.
    ///   - user: on whose behalf, named by any number. Where each statement runs alone, those whose users have fewer of them under way go first, so that
    ///     no user waits for all requests of another. `nil` goes first.
    ///   - deadline: when the caller stops waiting.
    ///
    /// Throws ``PostgresError``. Every code but ``PostgresError/Code/fateUnknown`` means that the statement had no effect.
    public func query(
        _ statement: Statement, with parameters: [Value] = [], lockKey: UInt64? = nil, user: UInt64? = nil, deadline: ContinuousClock.Instant
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

    /// Whether PostgreSQL answers a trivial query in time.
    public func isReachable(deadline: ContinuousClock.Instant) async -> Bool {
        do {
            return try await query(Self.ping, deadline: deadline).count == 1
        } catch {
            return false
        }
    }

    /// Services start side by side, and the first call may come before `run()` does.
    private func reservedOnceStarted(_ statement: Statement, deadline: ContinuousClock.Instant) async throws(PostgresError) -> RequestID {
        guard ContinuousClock.now < deadline else { throw PostgresError(code: .deadlineExceeded, statement: statement.name) }
        while true {
            if let id = core.reserve() { return id }
            guard ContinuousClock.now < deadline else {
                throw PostgresError(code: .connectionUnavailable, statement: statement.name, reason: "the pool is not running")
            }
            do {
                try await Task.sleep(for: .milliseconds(2))
            } catch {
                throw PostgresError(code: .cancelled, statement: statement.name)
            }
        }
    }
}
