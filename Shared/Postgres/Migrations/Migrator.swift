// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// Brings a database's schema up to date.
///
/// What has been applied is in `strata.schema_migrations` and `strata.schema_functions`. Migrators that run at the same time wait for each other
/// (advisory lock), and each migration is a transaction of its own: one that fails leaves no trace, and those before it stay. Functions are replaced in
/// the transaction of the last migration.
public struct Migrator: Sendable {
    private let configuration: PostgresConfiguration

    /// The configuration's role must be allowed to do what the migrations do. Its time limits for statements and locks do not apply here, and whole tables
    /// may be read.
    public init(configuration: PostgresConfiguration) {
        var configuration = configuration
        configuration.statementTimeout = .zero
        configuration.lockTimeout = .zero
        configuration.idleInTransactionTimeout = .zero
        configuration.readsWholeTables = true
        self.configuration = configuration
    }

    /// Applies what is missing, in the order of versions, and returns that.
    ///
    /// Throws ``PostgresError/Code/migration`` naming the migration that failed, was changed after it had been applied, or comes too late;
    /// ``PostgresError/Code/otherSchema`` if other migrations made the database;
    /// ``PostgresError/Code/connectionUnavailable`` if the database cannot be reached; ``PostgresError/Code/cancelled``.
    public func migrate(_ migrations: [Migration], logger: Logger) async throws(PostgresError) -> [Migration] {
        try await run(migrations, functions: nil, logger: logger).steps
    }

    /// Applies what is missing, as ``migrate(_:logger:)``, and executes the function files if they are not those that were executed last.
    ///
    /// Functions are replaced in place; those that earlier files or steps made and that are gone from the files are dropped. Functions of a higher
    /// revision stay as they are.
    public func migrate(_ migrations: [Migration], functions: FunctionSet, logger: Logger) async throws(PostgresError) -> MigrationReport {
        try await run(migrations, functions: functions, logger: logger)
    }

    private func run(_ migrations: [Migration], functions: FunctionSet?, logger: Logger) async throws(PostgresError) -> MigrationReport {
        try await withConnection { session throws(PostgresError) in
            try MigrationRun(session: session, logger: logger).apply(migrations, functions: functions)
        }
    }

    /// Runs a script of any number of SQL statements, for roles, grants and tests. Without transaction control in it, it takes effect as a whole or
    /// not at all.
    public func execute(script: String) async throws(PostgresError) {
        try await withConnection { session throws(PostgresError) in try session.run(script: script) }
    }

    /// Opens a connection on a thread of its own for the time of `work`. Cancelling the task cancels what runs on it.
    func withConnection<Value: Sendable>(
        _ work: @escaping @Sendable (MigrationSession) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let wake = try WakeSignal()
        let cancellation = Cancellation()
        let result: Result<Value, PostgresError> = await withTaskCancellationHandler {
            do throws(PostgresError) {
                return .success(
                    try await OwnThread.run { [configuration] () throws(PostgresError) -> Value in
                        let connection = try Connection.open(configuration, wake: wake, pipeline: false) { cancellation.isSet }
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

/// Whether the task that waits for a migration is gone.
final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
