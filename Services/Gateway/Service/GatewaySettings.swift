// SPDX-License-Identifier: Apache-2.0
public import ServiceKit

/// The settings of a gateway. Each value names its environment variable. ServiceKit documents the settings common to
/// all services.
public struct GatewaySettings: ServiceSettings {
    /// The base of every URL inside an object: `https://host[:port][/prefix]`, without a trailing slash.
    /// `STRATA_PUBLIC_URL`: required.
    public var publicURL: String
    /// The secret from which nonces are derived. `STRATA_CLUSTER_SECRET`.
    public var clusterSecret: String
    /// The Redis server on which changes are published. `STRATA_REDIS_URL`: required. A gateway only subscribes, so the
    /// command queue keeps its defaults.
    public var redis: RedisSettings
    /// The addresses of the other services.
    public var backends: Backends
    /// The listening addresses and ports for clients.
    public var listeners = Listeners()
    /// The limits on a single request or object.
    public var objects = ObjectLimits()
    /// The limits on clients' use of the gateway's memory and time.
    public var load = LoadLimits()
    /// The limits on one socket.
    public var sockets = SocketLimits()
    /// The intervals for reading unpublished changes from the log.
    public var changes = ChangeIntervals()
    /// The settings of rich content.
    public var content = Content()

    /// Makes settings from the required values. All others have their defaults.
    public init(publicURL: String, redisURL: String, clusterSecret: String, backends: Backends) {
        self.publicURL = publicURL
        redis = RedisSettings(url: redisURL)
        self.clusterSecret = clusterSecret
        self.backends = backends
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the environment variable.
    public init(_ settings: Settings, common: CommonSettings) throws {
        self.init(
            publicURL: try Self.publicURL(settings), redisURL: try settings.secret("STRATA_REDIS_URL").value,
            clusterSecret: common.serviceSecret.value, backends: try Backends(settings, common: common))
        listeners = try Listeners(settings)
        objects = try ObjectLimits(settings)
        load = try LoadLimits(settings)
        sockets = try SocketLimits(settings)
        changes = try ChangeIntervals(settings)
        content = try Content(settings)
    }

    private static func publicURL(_ settings: Settings) throws -> String {
        var url = try settings.string("STRATA_PUBLIC_URL", expected: "https://host[:port]")
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.count > 8 else {
            throw SettingsError(
                key: "STRATA_PUBLIC_URL", problem: .invalid, expected: "https://host[:port], as clients reach it")
        }
        return url
    }

    /// The base URL for sockets, with the scheme `wss` or `ws`.
    public var webSocketURL: String {
        publicURL.hasPrefix("https://") ? "wss://" + publicURL.dropFirst(8) : "ws://" + publicURL.dropFirst(7)
    }
}

extension GatewaySettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the cluster secret and the Redis URL, which can hold passwords. Libraries may log objects
    /// that hold settings.
    public var description: String { "GatewaySettings(publicURL: \(publicURL), httpPort: \(listeners.httpPort))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
