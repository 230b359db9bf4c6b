// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Postgres
public import ServiceKit
import StrataModel

/// The settings of a service's connections to PostgreSQL. Services without a database link neither this module nor
/// libpq.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_POSTGRES_URL` | required, secret | the database, as the role of the service |
/// | `STRATA_POSTGRES_QUEUE` | 8192; 1 to 1,048,576 | queued statements per pool; further calls fail at once |
/// | `STRATA_POSTGRES_QUEUE_BYTES` | 32 MB; 64 KB to 2 GB | bytes of parameters of queued statements, per pool |
public struct PostgresSettings: Sendable {
    /// The URL of the database, with the role of the service.
    public var url: Secret<String>
    /// The maximum number of statements that are queued for a connection of one pool.
    public var queue = 8192
    /// The maximum bytes of parameters of queued statements.
    public var queueBytes = 32 << 20

    /// Creates settings with this address and the defaults.
    public init(url: String) { self.url = Secret(url) }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError` naming the key that is missing or invalid.
    public init(_ settings: Settings) throws {
        url = try settings.secret("STRATA_POSTGRES_URL")
        queue = try settings.int("STRATA_POSTGRES_QUEUE", default: queue, in: 1...1 << 20)
        queueBytes = try settings.int("STRATA_POSTGRES_QUEUE_BYTES", default: queueBytes, in: 1 << 16...Int(Int32.max))
    }

    /// Creates a pool.
    /// - Parameters:
    ///   - name: the name of the service, followed by the pool's name if the service has several pools. PostgreSQL
    ///     lists the connections under it, and metrics are labeled with it.
    ///   - statementTimeout: the maximum duration of one statement. nil: the default of
    ///     ``Postgres/PostgresConfiguration``.
    /// - Throws: an error if the address is invalid.
    public func pool(
        _ name: String, mode: PostgresPool.Mode, connections: Int, statementTimeout: Duration? = nil, logger: Logger
    ) throws -> PostgresPool {
        var configuration = try PostgresConfiguration(url: url.value)
        configuration.applicationName = "strata-\(name)"
        configuration.connections = connections
        configuration.queueLimitStatements = queue
        configuration.queueLimitBytes = queueBytes
        if let statementTimeout { configuration.statementTimeout = statementTimeout }
        return PostgresPool(configuration: configuration, mode: mode, logger: logger)
    }
}

extension PostgresPool {
    /// Checks for a service's readiness probe that the database answers.
    /// - Throws: ``StrataModel/Failure/unavailable`` if it does not answer in time.
    public func check(within limit: Duration) async throws {
        guard await isReachable(deadline: .now + limit) else { throw Failure.unavailable }
    }
}
