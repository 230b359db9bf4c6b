// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The settings of `strata dev`. Flags take precedence over the environment, and the environment over the defaults.
struct DevSettings: Equatable, Sendable {
    /// The number of databases, each on a server of its own.
    var databases: Int
    /// The number of instances of each service.
    var instances: [ServiceKind: Int]
    /// The address on which gateways listen.
    var host: String
    /// The HTTP port of the first gateway.
    var httpPort: Int
    /// The HTTPS port of the first gateway.
    var httpsPort: Int
    /// The preferred port of the console; nil: the console does not run.
    var consolePort: Int?
    /// The base of the URLs inside objects, without a trailing slash.
    var publicURL: String
    var logLevel: String

    /// The maximum number of instances of one service. More on one machine is a mistake.
    static let mostInstances = 16
    static let mostDatabases = 8
    static let defaultConsolePort = 8090
    static let logLevels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// The values of the command line; nil: not given.
    struct Flags: Equatable, Sendable {
        var databases = 1
        var gateways = 1
        var conversations = 1
        var metadata = 1
        var presence = 1
        var webhooks = 1
        var host: String?
        var httpPort: Int?
        var httpsPort: Int?
        var consolePort: Int?
        var publicURL: String?
        var logLevel: String?
    }

    /// Combines flags, environment and defaults.
    /// - Throws: ``CommandFailure`` that names the flag or variable and its allowed values.
    init(flags: Flags, environment: [String: String]) throws {
        instances = [
            .gateway: flags.gateways, .conversations: flags.conversations, .metadata: flags.metadata,
            .presence: flags.presence,
            .webhooks: flags.webhooks,
        ]
        for (kind, count) in instances where !(1...Self.mostInstances).contains(count) {
            let flag = kind == .gateway ? "--gateways" : "--\(kind.rawValue)"
            throw CommandFailure(.usage, "\(flag) must be between 1 and \(Self.mostInstances).")
        }
        databases = flags.databases
        guard (1...Self.mostDatabases).contains(databases) else {
            throw CommandFailure(.usage, "--databases must be between 1 and \(Self.mostDatabases).")
        }
        host = flags.host ?? environment["STRATA_HTTP_HOST"] ?? "127.0.0.1"
        guard IPAddressBytes(host)?.bytes.count == 4 else {
            throw CommandFailure(
                .configuration,
                "The address gateways listen on (--host, STRATA_HTTP_HOST) must be an IPv4 address, such as 0.0.0.0.")
        }
        httpPort = try Self.port(
            flags.httpPort, flag: "--http-port", environment: environment, key: "STRATA_HTTP_PORT", default: 8080)
        httpsPort = try Self.port(
            flags.httpsPort, flag: "--https-port", environment: environment, key: "STRATA_HTTPS_PORT", default: 8443)
        guard httpPort != httpsPort else {
            throw CommandFailure(
                .configuration, "HTTP and HTTPS cannot share port \(httpPort); change --http-port or --https-port.")
        }
        if try Self.runsConsole(environment) {
            consolePort = try Self.port(
                flags.consolePort, flag: "--console-port", environment: environment, key: "STRATA_CONSOLE_PORT",
                default: Self.defaultConsolePort)
            instances[.console] = 1
        }
        let given = flags.publicURL ?? environment["STRATA_PUBLIC_URL"]
        publicURL = try given.map(Self.checkedPublicURL) ?? "https://localhost:\(httpsPort)"
        logLevel = flags.logLevel ?? environment["STRATA_LOG_LEVEL"] ?? "info"
        guard Self.logLevels.contains(logLevel) else {
            throw CommandFailure(
                .configuration,
                """
                The log level (--log-level, STRATA_LOG_LEVEL) must be one of: \
                \(Self.logLevels.joined(separator: ", ")).
                """
            )
        }
    }

    /// The services that run.
    var kinds: [ServiceKind] { ServiceKind.allCases.filter { instances[$0] ?? 0 > 0 } }

    /// The host names and addresses that the certificate must cover.
    var certificateHosts: [String] {
        let own = ["localhost", "127.0.0.1", "::1"]
        let publicHost = URLComponents(string: publicURL)?.host?
            .trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return own + [publicHost].compactMap { $0 }.filter { !own.contains($0) }
    }

    private static func runsConsole(_ environment: [String: String]) throws -> Bool {
        switch environment["STRATA_CONSOLE"]?.lowercased() ?? "" {
        case "", "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default: throw CommandFailure(.configuration, "STRATA_CONSOLE must be true or false.")
        }
    }

    private static func port(
        _ flag: Int?, flag name: String, environment: [String: String], key: String, default: Int
    ) throws -> Int {
        let (value, source) =
            flag.map { ("\($0)", name) } ?? environment[key].map { ($0, key) } ?? ("\(`default`)", key)
        guard let number = Int(value), (1...65_535).contains(number) else {
            throw CommandFailure(.configuration, "\(source) must be a port number between 1 and 65535.")
        }
        return number
    }

    private static func checkedPublicURL(_ text: String) throws -> String {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let parts = URLComponents(string: trimmed), let scheme = parts.scheme,
            ["https", "http"].contains(scheme),
            parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil, parts.user == nil
        else {
            throw CommandFailure(
                .configuration,
                "The public URL (--public-url, STRATA_PUBLIC_URL) must look like https://chat.example.org.")
        }
        return trimmed
    }
}
