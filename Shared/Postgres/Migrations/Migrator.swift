// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// A migrator that updates a database's schema.
///
/// Applied migrations and functions are recorded in `strata.schema_migrations` and `strata.schema_functions`. An
/// advisory lock serializes concurrent migrators. Each migration is a transaction: a failed one has no effect, and
/// those before it persist. Functions are replaced in the transaction of the last migration.
public struct Migrator: Sendable {
    private let configuration: PostgresConfiguration

    /// Creates a migrator. The configuration's role needs the privileges that the migrations require. The
    /// configuration's time-outs of statements and locks do not apply, and whole tables may be scanned.
    public init(configuration: PostgresConfiguration) {
        var configuration = configuration
        configuration.statementTimeout = .zero
        configuration.lockTimeout = .zero
        configuration.idleInTransactionTimeout = .zero
        configuration.readsWholeTables = true
        self.configuration = configuration
    }

    /// Applies the missing migrations in the order of versions, and returns them.
    ///
    /// Throws:
    /// - ``PostgresError/Code/migration`` naming the migration that failed, was changed after it was applied, or is
    ///   older than an applied one.
    /// - ``PostgresError/Code/otherSchema`` if the database was created by other migrations.
    /// - ``PostgresError/Code/connectionUnavailable`` if the database cannot be reached.
    /// - ``PostgresError/Code/cancelled`` if the task was cancelled.
    public func migrate(_ migrations: [Migration], logger: Logger) async throws(PostgresError) -> [Migration] {
        try await run(migrations, functions: nil, logger: logger).steps
    }

    /// Applies the missing migrations like ``migrate(_:logger:)``, and executes the function files if they differ from
    /// the last executed ones.
    ///
    /// Functions are replaced in place. Functions that earlier files or steps defined and the current files do not are
    /// dropped. Functions of a higher revision are left unchanged.
    public func migrate(
        _ migrations: [Migration], functions: FunctionSet, logger: Logger
    ) async throws(PostgresError) -> MigrationReport {
        try await run(migrations, functions: functions, logger: logger)
    }

    private func run(
        _ migrations: [Migration], functions: FunctionSet?, logger: Logger
    ) async throws(PostgresError) -> MigrationReport {
        try await withConnection { session throws(PostgresError) in
            try MigrationRun(session: session, logger: logger).apply(migrations, functions: functions)
        }
    }

    /// Runs a script of any number of SQL statements, for roles, grants and tests. A script without transaction control
    /// is atomic.
    public func execute(script: String) async throws(PostgresError) {
        try await withConnection { session throws(PostgresError) in try session.run(script: script) }
    }

    /// Opens a connection on its own thread for the duration of `work`. Cancelling the task cancels the running
    /// statement.
    func withConnection<Value: Sendable>(
        _ work: @escaping @Sendable (MigrationSession) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let wake = try WakeSignal()
        let cancellation = Cancellation()
        let result: Result<Value, PostgresError> = await withTaskCancellationHandler {
            do throws(PostgresError) {
                return .success(
                    try await OwnThread.run { [configuration] () throws(PostgresError) -> Value in
                        let connection = try Connection.open(configuration, wake: wake, pipeline: false) {
                            cancellation.isSet
                        }
                        return try work(MigrationSession(connection: connection, cancellation: cancellation))
                    })
            } catch {
                return .failure(error)
            }
        } onCancel: {
            cancellation.set()
            wake.signal()
        }
        if case .failure(let error) = result, cancellation.isSet {
            throw PostgresError(code: .cancelled, sqlState: error.sqlState, reason: error.reason)
        }
        return try result.get()
    }
}

/// A flag that indicates whether the task that waits for a migration was cancelled.
final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
