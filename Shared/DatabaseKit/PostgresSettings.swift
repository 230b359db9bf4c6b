// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Postgres
public import ServiceKit
import StrataModel

/// How a service reaches PostgreSQL. Services without a database do not link this module, nor libpq.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_POSTGRES_URL` | required, secret | the database, as the role of the service |
/// | `STRATA_POSTGRES_QUEUE` | 8192; 1 to 1,048,576 | statements that wait for a connection of one pool; beyond it calls fail at once |
/// | `STRATA_POSTGRES_QUEUE_BYTES` | 32 MB; 64 KB to 2 GB | bytes of their parameters |
public struct PostgresSettings: Sendable {
    /// The database, as the role of the service.
    public var url: Secret<String>
    /// Statements that wait for a connection of one pool.
    public var queue = 8192
    /// Bytes of their parameters.
    public var queueBytes = 32 << 20

    /// Settings with this address, and for the rest the defaults above.
    public init(url: String) { self.url = Secret(url) }

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that is missing or cannot be used.
    public init(_ settings: Settings) throws {
        url = try settings.secret("STRATA_POSTGRES_URL")
        queue = try settings.int("STRATA_POSTGRES_QUEUE", default: queue, in: 1...1 << 20)
        queueBytes = try settings.int("STRATA_POSTGRES_QUEUE_BYTES", default: queueBytes, in: 1 << 16...Int(Int32.max))
    }

    /// A pool.
    /// - Parameters:
    ///   - name: of the service and, if it has several pools, of this one, by which PostgreSQL lists the connections and metrics name the pool.
    ///   - statementTimeout: how long one statement may take; nil: as every pool.
    /// - Throws: if the address cannot be used.
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
    /// Asks the database for the readiness check of a service.
    /// - Throws: ``StrataModel/Failure/unavailable`` if it does not answer in time.
    public func check(within limit: Duration) async throws {
        guard await isReachable(deadline: .now + limit) else { throw Failure.unavailable }
    }
}
