// SPDX-License-Identifier: Apache-2.0
import Contracts
public import DatabaseKit
import Foundation
public import RPC
public import ServiceKit

/// The settings of the console. Each value names its environment variable.
public struct ConsoleSettings: ServiceSettings {
    /// The database, with the role `strata_console`.
    public var postgres: PostgresSettings
    /// The Redis server on which changes are published. `STRATA_REDIS_URL`: required. The console only subscribes.
    public var redis: RedisSettings
    /// The secret that signs requests for traces. `STRATA_CLUSTER_SECRET`.
    public var clusterSecret: Secret<String>
    /// The addresses of the services.
    public var backends: Backends
    /// The base URL of the gateways inside the deployment, without a trailing slash. `STRATA_CONSOLE_GATEWAY_URL`:
    /// required.
    public var gatewayURL: String
    /// The host on which the console listens. `STRATA_CONSOLE_HOST`: default `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The port on which the console listens. `STRATA_CONSOLE_PORT`: 0 to 65,535, default 8090. 0: any free port.
    public var port = 8090
    /// True if browsers may send the session over HTTP. `STRATA_CONSOLE_ALLOW_HTTP`: default false.
    public var allowsHTTP = false
    /// The number of proxies in front of the console, whose `X-Forwarded-For` names the operators' addresses.
    /// `STRATA_CONSOLE_TRUSTED_PROXIES`: 0 to 16, default 0.
    public var trustedProxies = 0
    /// The number of connections to PostgreSQL. `STRATA_CONSOLE_CONNECTIONS`: 1 to 16, default 2.
    public var connections = 2
    /// The admin ports of all processes, which the overview shows. `STRATA_CONSOLE_INSTANCES`: `kind=host:port`,
    /// separated by commas, default none. Those of kind `gateway` also serve traces.
    public var instances: [InstanceName] = []
    /// The base URL of Prometheus, whose alerts the overview shows. `STRATA_CONSOLE_PROMETHEUS_URL`: default none,
    /// which shows the console's own findings only.
    public var prometheusURL: String?

    /// Creates settings from the required values. All others have their defaults.
    public init(postgresURL: String, redisURL: String, clusterSecret: String, gatewayURL: String, backends: Backends) {
        postgres = PostgresSettings(url: postgresURL)
        redis = RedisSettings(url: redisURL)
        self.clusterSecret = Secret(clusterSecret)
        self.gatewayURL = gatewayURL
        self.backends = backends
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the environment variable.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        redis = RedisSettings(url: try settings.secret("STRATA_REDIS_URL").value)
        clusterSecret = common.serviceSecret
        backends = try Backends(settings, common: common)
        gatewayURL = try Self.url("STRATA_CONSOLE_GATEWAY_URL", of: settings.urls("STRATA_CONSOLE_GATEWAY_URL"))
        host = try settings.string("STRATA_CONSOLE_HOST", default: host)
        port = try settings.int("STRATA_CONSOLE_PORT", default: port, in: 0...65_535)
        allowsHTTP = try settings.bool("STRATA_CONSOLE_ALLOW_HTTP", default: allowsHTTP)
        trustedProxies = try settings.int("STRATA_CONSOLE_TRUSTED_PROXIES", default: trustedProxies, in: 0...16)
        connections = try settings.int("STRATA_CONSOLE_CONNECTIONS", default: connections, in: 1...16)
        instances = try settings.strings("STRATA_CONSOLE_INSTANCES", default: [])
            .map { text in
                guard let instance = InstanceName(text) else {
                    throw SettingsError(
                        key: "STRATA_CONSOLE_INSTANCES", problem: .invalid,
                        expected: "kind=host:port such as gateway=gateway:7401, separated by commas")
                }
                return instance
            }
        if try settings.optionalString("STRATA_CONSOLE_PROMETHEUS_URL") != nil {
            prometheusURL = try Self.url(
                "STRATA_CONSOLE_PROMETHEUS_URL", of: settings.urls("STRATA_CONSOLE_PROMETHEUS_URL"))
        }
    }

    private static func url(_ key: String, of urls: [URL]) throws -> String {
        guard urls.count == 1, var text = urls.first?.absoluteString,
            text.hasPrefix("http://") || text.hasPrefix("https://")
        else {
            throw SettingsError(key: key, problem: .invalid, expected: "one URL such as http://gateway:8080")
        }
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// The addresses of the services that the console calls. Each value is `host:port`, or a comma-separated list.
    public struct Backends: Sendable {
        /// The service for apps and reports. `STRATA_CONVERSATIONS_ADDRESSES`: required.
        public var conversations: RPCClientConfiguration
        /// The service for presence. `STRATA_PRESENCE_ADDRESSES`: required.
        public var presence: RPCClientConfiguration
        /// The service that sends tests of webhooks. Without it, they are answered with 503.
        ///
        /// - `STRATA_WEBHOOKS_ADDRESSES`: default none.
        /// - `STRATA_WEBHOOKS_SECRET`: the secret of the webhooks service, at least 32 characters. Required with the
        ///   addresses.
        public var webhooks: RPCClientConfiguration?

        /// Creates the settings from the required addresses, without webhooks.
        public init(conversations: RPCClientConfiguration, presence: RPCClientConfiguration) {
            self.conversations = conversations
            self.presence = presence
        }

        init(_ settings: Settings, common: CommonSettings) throws {
            conversations =
                try settings.rpcClient("STRATA_CONVERSATIONS_ADDRESSES", name: "conversations", common: common)
                .withMethodNames
            presence = try settings.rpcClient("STRATA_PRESENCE_ADDRESSES", name: "presence", common: common)
                .withMethodNames
            if try settings.optionalString("STRATA_WEBHOOKS_ADDRESSES") != nil {
                let secret = try settings.secret("STRATA_WEBHOOKS_SECRET", minimumLength: 32)
                webhooks =
                    try settings.rpcClient(
                        "STRATA_WEBHOOKS_ADDRESSES", name: "webhooks", common: common, secret: secret
                    )
                    .withMethodNames
            }
        }
    }
}

extension ConsoleSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the URLs of PostgreSQL and Redis, which can hold passwords. Libraries may log objects that
    /// hold settings.
    public var description: String { "ConsoleSettings(host: \(host), port: \(port))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
