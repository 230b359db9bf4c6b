// SPDX-License-Identifier: Apache-2.0
import CLibPQ

/// The configuration of a pool: the server, the session and the pool's limits.
public struct PostgresConfiguration: Sendable {
    /// The libpq URL or keyword string. It is secret because it can contain a password.
    let url: String

    /// The number of connections, each with its own thread: 1 to 256, default 8. More than 16 in total reduce the
    /// throughput, because statements are grouped.
    public var connections = 8
    /// The maximum number of statements in a group: default 64. A group's locks are held until its commit, so larger
    /// groups delay others longer.
    public var maximumGroupStatements = 64
    /// The maximum size of a group's parameters, in bytes: default 256 KiB. A larger statement is sent alone.
    public var maximumGroupBytes = 256 * 1024
    /// The maximum number of queued statements: default 8192. A further statement fails with
    /// ``PostgresError/Code/queueFull``.
    public var queueLimitStatements = 8192
    /// The maximum size of the queued statements' parameters, in bytes: default 32 MiB.
    public var queueLimitBytes = 32 * 1024 * 1024
    /// The server's time-out of a statement, regardless of its caller's deadline: default 5 s. Zero: none.
    public var statementTimeout: Duration = .seconds(5)
    /// The server's time-out for acquiring a lock: default 2 s. It limits how long a locked row delays a group. Zero:
    /// none.
    public var lockTimeout: Duration = .seconds(2)
    /// The time after which the server ends a session with an idle open transaction: default 10 s. Zero: never.
    public var idleInTransactionTimeout: Duration = .seconds(10)
    /// The time-out for connecting and setting up the session: default 5 s.
    public var connectTimeout: Duration = .seconds(5)
    /// The idle time before the first keep-alive probe of either end: default 10 s. Probes repeat every
    /// ``keepaliveInterval``; after ``keepaliveCount`` unanswered ones the connection is closed.
    public var keepaliveIdle: Duration = .seconds(10)
    /// The time between keep-alive probes of an idle connection: default 5 s.
    public var keepaliveInterval: Duration = .seconds(5)
    /// The number of unanswered keep-alive probes after which a connection is closed: default 3.
    public var keepaliveCount = 3
    /// The time after which a connection with unacknowledged bytes is closed: default 10 s. It also limits the sending
    /// of a cancel request.
    public var tcpUserTimeout: Duration = .seconds(10)
    /// The first delay between reconnection attempts: default 50 ms. It doubles with each failure. Each delay is
    /// randomly shortened by up to one half.
    public var reconnectMinimum: Duration = .milliseconds(50)
    /// The maximum delay between reconnection attempts: default 2 s.
    public var reconnectMaximum: Duration = .seconds(2)
    /// The time for the server to answer a cancel request before the connection is closed: default 1 s.
    public var cancelGrace: Duration = .seconds(1)
    /// True if the planner may scan whole tables and whole indexes; default false. A service's statements look rows up
    /// by key. Outdated statistics, for example of an empty table, would make the planner prefer full scans, and keep
    /// them when the table has grown.
    public var readsWholeTables = false
    /// The name shown in `pg_stat_activity`, and the label of the metrics.
    public var applicationName = "strata"
    /// The role to assume with `SET ROLE`; nil: the role that logs in.
    public var role: String?
    /// The schemas of the search path; empty: the role's default.
    public var searchPath: [String] = []

    /// Creates a configuration from a `postgresql://` URL or a `key=value` string of libpq. Omitted values come from
    /// libpq's environment variables. Does not connect.
    ///
    /// Throws ``PostgresError/Code/configuration`` if libpq cannot parse the string.
    public init(url: String) throws(PostgresError) {
        guard !url.utf8.contains(0), ConnectionParameters.isValid(url) else {
            throw PostgresError(code: .configuration, reason: "the PostgreSQL URL cannot be parsed")
        }
        self.url = url
    }

    /// Validates all values. Throws ``PostgresError/Code/configuration`` naming the first value that is out of range.
    func validate() throws(PostgresError) {
        let counts = [
            ("connections", connections, 1...256), ("maximumGroupStatements", maximumGroupStatements, 1...1024),
            ("maximumGroupBytes", maximumGroupBytes, 1...(64 << 20)),
            ("queueLimitStatements", queueLimitStatements, 1...(1 << 20)),
            ("queueLimitBytes", queueLimitBytes, 1...Int(Int32.max)), ("keepaliveCount", keepaliveCount, 1...100),
        ]
        for (name, value, range) in counts where !range.contains(value) {
            throw PostgresError(
                code: .configuration, reason: "\(name) must be from \(range.lowerBound) to \(range.upperBound)")
        }
        let day = Duration.seconds(86_400)
        let durations = [
            ("statementTimeout", statementTimeout, .zero), ("lockTimeout", lockTimeout, .zero),
            ("idleInTransactionTimeout", idleInTransactionTimeout, .zero),
            ("connectTimeout", connectTimeout, .milliseconds(1)),
            ("keepaliveIdle", keepaliveIdle, .seconds(1)), ("keepaliveInterval", keepaliveInterval, .seconds(1)),
            ("tcpUserTimeout", tcpUserTimeout, .milliseconds(1)),
            ("reconnectMinimum", reconnectMinimum, .milliseconds(1)),
            ("reconnectMaximum", reconnectMaximum, reconnectMinimum),
            ("cancelGrace", cancelGrace, Duration.milliseconds(1)),
        ]
        for (name, value, minimum) in durations where value < minimum || value > day {
            throw PostgresError(code: .configuration, reason: "\(name) must be from \(minimum) to \(day)")
        }
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
    /// A description without the URL, which can contain a password.
    public var description: String {
        "PostgresConfiguration(applicationName: \(applicationName), connections: \(connections))"
    }

    /// A mirror that hides the URL from `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["connections": connections], displayStyle: .struct) }
}

extension Duration {
    /// The duration in milliseconds, rounded up.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }

    /// The duration in seconds, rounded up.
    var wholeSeconds: Int64 { (wholeMilliseconds + 999) / 1000 }
}

/// The parameters for opening a connection with libpq, and the session's settings.
struct ConnectionParameters: Sendable {
    let keywords: [(name: String, value: String)]
    /// Session settings, applied with `set_config` after connecting.
    let settings: [(name: String, value: String)]

    static func isValid(_ url: String) -> Bool {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            PQfreemem(message)
            return false
        }
        PQconninfoFree(options)
        return true
    }

    init(_ configuration: PostgresConfiguration) {
        let liveness = [
            ("keepalives_idle", "\(configuration.keepaliveIdle.wholeSeconds)"),
            ("keepalives_interval", "\(configuration.keepaliveInterval.wholeSeconds)"),
            ("keepalives_count", "\(configuration.keepaliveCount)"),
            ("tcp_user_timeout", "\(configuration.tcpUserTimeout.wholeMilliseconds)"),
        ]
        // The URL overrides keywords before "dbname", but not those after it.
        keywords =
            [("gssencmode", "disable"), ("keepalives", "1")] + liveness + [
                ("dbname", configuration.url),
                ("client_encoding", "UTF8"),
                ("application_name", configuration.applicationName),
            ]
        var settings = [
            ("synchronous_commit", "on"),
            ("TimeZone", "UTC"),
            ("client_min_messages", "warning"),
            ("statement_timeout", "\(configuration.statementTimeout.wholeMilliseconds)"),
            ("lock_timeout", "\(configuration.lockTimeout.wholeMilliseconds)"),
            ("idle_in_transaction_session_timeout", "\(configuration.idleInTransactionTimeout.wholeMilliseconds)"),
            // The planner assigns huge costs to the plans that these settings disable. JIT-compiling such a plan takes
            // a second at each execution.
            ("jit", "off"),
        ]
        // The server would otherwise keep the sessions and locks of a lost machine for two hours.
        settings += liveness.map { ($0.hasPrefix("tcp_") ? $0 : "tcp_" + $0, $1) }
        if !configuration.readsWholeTables {
            // Hash joins stay enabled because statements join their array parameters by them.
            settings += [("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_mergejoin", "off")]
        }
        if !configuration.searchPath.isEmpty {
            let quoted = configuration.searchPath.map {
                "\"" + $0.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
            }
            settings.append(("search_path", quoted.joined(separator: ", ")))
        }
        if let role = configuration.role { settings.append(("role", role)) }
        self.settings = settings
    }

    /// The statement `SELECT set_config($1,$2,false), …`.
    var settingsSQL: String {
        let calls = settings.indices.map { "pg_catalog.set_config($\(2 * $0 + 1), $\(2 * $0 + 2), false)" }
        return "SELECT " + calls.joined(separator: ", ")
    }
}
