// SPDX-License-Identifier: Apache-2.0

import CLibPQ

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
        // The URL overrides keywords before "dbname", but not those after it.
        keywords = [
            ("gssencmode", "disable"),
            ("keepalives", "1"),
            ("keepalives_idle", "\(configuration.keepaliveIdle.wholeSeconds)"),
            ("keepalives_interval", "\(configuration.keepaliveInterval.wholeSeconds)"),
            ("keepalives_count", "\(configuration.keepaliveCount)"),
            ("tcp_user_timeout", "\(configuration.tcpUserTimeout.wholeMilliseconds)"),
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
