// SPDX-License-Identifier: Apache-2.0

/// How to reach PostgreSQL, and the bounds a pool keeps.
public struct PostgresConfiguration: Sendable {
    /// The libpq URL or keyword string. Secret: it can contain a password.
    let url: String

    /// Connections of a pool, each with a thread of its own. More than 16 in all is slower, not faster: statements group themselves.
    public var connections = 8
    /// Most statements of one group. Locks of a group are held until its commit, so a larger one makes others wait longer.
    public var maximumGroupStatements = 64
    /// Most bytes of parameters in one group. A larger statement travels alone.
    public var maximumGroupBytes = 256 * 1024
    /// Most statements waiting for a connection; the next one fails with ``PostgresError/Code/queueFull``.
    public var queueLimitStatements = 8192
    /// Most bytes of parameters waiting for a connection.
    public var queueLimitBytes = 32 * 1024 * 1024
    /// The server gives up a statement after this time, whatever its caller's deadline. Zero: never.
    public var statementTimeout: Duration = .seconds(5)
    /// The server gives up waiting for one lock after this time, so that one stuck row does not hold a group up for long. Zero: never.
    public var lockTimeout: Duration = .seconds(2)
    /// The server ends a session that leaves a transaction open for this long. Zero: never.
    public var idleInTransactionTimeout: Duration = .seconds(10)
    /// How long connecting and setting a session up may take.
    public var connectTimeout: Duration = .seconds(5)
    /// A silent connection is probed after this time, then every ``keepaliveInterval``, and given up after ``keepaliveCount`` probes.
    public var keepaliveIdle: Duration = .seconds(10)
    /// Time between probes of a silent connection.
    public var keepaliveInterval: Duration = .seconds(5)
    /// Probes without an answer after which a connection is given up.
    public var keepaliveCount = 3
    /// A connection is given up when sent bytes stay unacknowledged for this long. Also bounds the sending of a cancel request.
    public var tcpUserTimeout: Duration = .seconds(10)
    /// The first pause between attempts to reconnect; it doubles with each failure. Each pause is shortened at random by up to a half.
    public var reconnectMinimum: Duration = .milliseconds(50)
    /// The longest pause between attempts to reconnect.
    public var reconnectMaximum: Duration = .seconds(2)
    /// How long the server has to answer a cancel request before the connection is given up.
    public var cancelGrace: Duration = .seconds(1)
    /// Whether the planner may read whole tables and whole indexes. A service's statements look rows up by key: with statistics from another time, of an
    /// empty table say, the planner would take reading all of it for cheaper, and go on doing so when the table has grown.
    public var readsWholeTables = false
    /// What `pg_stat_activity` shows, and the label of the metrics.
    public var applicationName = "strata"
    /// The role to work as (`SET ROLE`), if not the one that logs in.
    public var role: String?
    /// The schemas to look names up in; empty leaves the role's default.
    public var searchPath: [String] = []

    /// Takes a `postgresql://` URL or a `key=value` string as libpq understands it; what it leaves out comes from libpq's environment variables.
    ///
    /// Throws ``PostgresError/Code/configuration`` if libpq cannot parse it. Nothing is connected yet.
    public init(url: String) throws(PostgresError) {
        guard !url.utf8.contains(0), ConnectionParameters.isValid(url) else {
            throw PostgresError(code: .configuration, reason: "the PostgreSQL URL cannot be parsed")
        }
        self.url = url
    }

    /// Throws ``PostgresError/Code/configuration`` naming the first value that is out of range.
    func validate() throws(PostgresError) {
        let counts = [
            ("connections", connections, 1...256), ("maximumGroupStatements", maximumGroupStatements, 1...1024),
            ("maximumGroupBytes", maximumGroupBytes, 1...(64 << 20)), ("queueLimitStatements", queueLimitStatements, 1...(1 << 20)),
            ("queueLimitBytes", queueLimitBytes, 1...Int(Int32.max)), ("keepaliveCount", keepaliveCount, 1...100),
        ]
        for (name, value, range) in counts where !range.contains(value) {
            throw PostgresError(code: .configuration, reason: "\(name) must be from \(range.lowerBound) to \(range.upperBound)")
        }
        let day = Duration.seconds(86_400)
        let durations = [
            ("statementTimeout", statementTimeout, .zero), ("lockTimeout", lockTimeout, .zero),
            ("idleInTransactionTimeout", idleInTransactionTimeout, .zero), ("connectTimeout", connectTimeout, .milliseconds(1)),
            ("keepaliveIdle", keepaliveIdle, .seconds(1)), ("keepaliveInterval", keepaliveInterval, .seconds(1)),
            ("tcpUserTimeout", tcpUserTimeout, .milliseconds(1)), ("reconnectMinimum", reconnectMinimum, .milliseconds(1)),
            ("reconnectMaximum", reconnectMaximum, reconnectMinimum), ("cancelGrace", cancelGrace, Duration.milliseconds(1)),
        ]
        for (name, value, minimum) in durations where value < minimum || value > day {
            throw PostgresError(code: .configuration, reason: "\(name) must be from \(minimum) to \(day)")
        }
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
    /// Leaves the URL out, which can contain a password.
    public var description: String { "PostgresConfiguration(applicationName: \(applicationName), connections: \(connections))" }

    /// Hides the URL from `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["connections": connections], displayStyle: .struct) }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }

    /// Whole seconds, rounded up.
    var wholeSeconds: Int64 { (wholeMilliseconds + 999) / 1000 }
}
