// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// What libpq and the session are told when a connection is opened.
struct ConnectionParameters: Sendable {
    let keywords: [(name: String, value: String)]
    /// Session settings, applied with `set_config` right after connecting.
    let settings: [(name: String, value: String)]

    /// Whether libpq can parse `url`.
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
        // What stands before "dbname" yields to the URL; what stands after it does not.
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
            // What these settings rule out, the planner gives a price that no plan is worth, and compiling such a plan takes a second at each execution.
            ("jit", "off"),
        ]
        if !configuration.readsWholeTables {
            // Hash joins stay: what a statement was given is joined by them.
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

    /// `SELECT set_config($1,$2,false), …`
    var settingsSQL: String {
        let calls = settings.indices.map { "pg_catalog.set_config($\(2 * $0 + 1), $\(2 * $0 + 2), false)" }
        return "SELECT " + calls.joined(separator: ", ")
    }
}
