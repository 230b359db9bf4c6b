// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Postgres
public import ServiceKit
public import StrataModel

/// The settings of a service's connections to PostgreSQL. Services without a database link neither this module nor
/// libpq.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_POSTGRES_URL` | required, secret | the database, as the role of the service, or a ``DatabaseList`` |
/// | `STRATA_POSTGRES_QUEUE` | 8192; 1 to 1,048,576 | queued statements per pool; further calls fail at once |
/// | `STRATA_POSTGRES_QUEUE_BYTES` | 32 MB; 64 KB to 2 GB | bytes of parameters of queued statements, per pool |
public struct PostgresSettings: Sendable {
    /// A database of the installation.
    public struct Database: Sendable {
        /// The name.
        public let name: DatabaseName
        /// The URL, with the role of the service.
        public let url: Secret<String>
    }

    /// The first database, which also has the console's tables.
    public let first: Database
    /// The other databases; empty: the installation has one.
    public let others: [Database]
    /// The maximum number of statements that are queued for a connection of one pool.
    public var queue = 8192
    /// The maximum bytes of parameters of queued statements.
    public var queueBytes = 32 << 20

    /// All databases, the first one first.
    public var databases: [Database] { [first] + others }
    /// The URL of the first database.
    public var url: Secret<String> { first.url }

    /// Creates settings with the address of a single database, and the defaults.
    public init(url: String) {
        first = Database(name: .main, url: Secret(url))
        others = []
    }

    /// Creates settings with the addresses of several databases, and the defaults.
    public init(_ list: DatabaseList) {
        let databases = list.databases.map { Database(name: $0.name, url: Secret($0.url)) }
        (first, others) = (databases[0], Array(databases.dropFirst()))
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError` naming the key that is missing or invalid.
    public init(_ settings: Settings) throws {
        let key = "STRATA_POSTGRES_URL"
        guard let list = DatabaseList(try settings.secret(key).value) else {
            throw SettingsError(key: key, problem: .invalid, expected: DatabaseList.expected)
        }
        self.init(list)
        queue = try settings.int("STRATA_POSTGRES_QUEUE", default: queue, in: 1...1 << 20)
        queueBytes = try settings.int("STRATA_POSTGRES_QUEUE_BYTES", default: queueBytes, in: 1 << 16...Int(Int32.max))
    }

    /// Creates a pool.
    /// - Parameters:
    ///   - name: the name of the service, followed by the pool's name if the service has several pools. PostgreSQL
    ///     lists the connections under it, and metrics are labeled with it. The database's name follows if there are
    ///     several.
    ///   - database: the database; nil: the first one.
    ///   - statementTimeout: the maximum duration of one statement. nil: the default of
    ///     ``Postgres/PostgresConfiguration``.
    /// - Throws: an error if the address is invalid.
    public func pool(
        _ name: String, in database: Database? = nil, mode: PostgresPool.Mode, connections: Int,
        statementTimeout: Duration? = nil, logger: Logger
    ) throws -> PostgresPool {
        let database = database ?? first
        var configuration = try PostgresConfiguration(url: database.url.value)
        configuration.applicationName = others.isEmpty ? "strata-\(name)" : "strata-\(name)-\(database.name)"
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
