// SPDX-License-Identifier: Apache-2.0
public import ServiceKit

/// What can be set about a gateway. Each value names its key; the common keys stand in ServiceKit.
public struct GatewaySettings: ServiceSettings {
    /// The base of every URL inside an object: `https://host[:port][/prefix]`, without a trailing slash. `STRATA_PUBLIC_URL`, required.
    public var publicURL: String
    /// What nonces are made from. `STRATA_CLUSTER_SECRET`.
    public var clusterSecret: String
    /// Where changes are published. `STRATA_REDIS_URL`, required. A gateway only subscribes, so the queue for commands keeps its defaults.
    public var redis: RedisSettings
    /// Where the other services are.
    public var backends: Backends
    /// Where clients connect.
    public var listeners = Listeners()
    /// What one request or one object may contain.
    public var objects = ObjectLimits()
    /// What clients may use of the gateway's memory and time.
    public var load = LoadLimits()
    /// What one socket may use.
    public var sockets = SocketLimits()
    /// When the log is read for changes that were not published.
    public var changes = ChangeIntervals()
    /// Rich content.
    public var content = Content()

    /// The required ones; everything else has its default.
    public init(publicURL: String, redisURL: String, clusterSecret: String, backends: Backends) {
        self.publicURL = publicURL
        redis = RedisSettings(url: redisURL)
        self.clusterSecret = clusterSecret
        self.backends = backends
    }

    /// From the environment.
    /// - Throws: `SettingsError` naming the key.
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
            throw SettingsError(key: "STRATA_PUBLIC_URL", problem: .invalid, expected: "https://host[:port], as clients reach it")
        }
        return url
    }

    /// The same base for sockets.
    public var webSocketURL: String {
        publicURL.hasPrefix("https://") ? "wss://" + publicURL.dropFirst(8) : "ws://" + publicURL.dropFirst(7)
    }
}

extension GatewaySettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves out the cluster secret and the URL of Redis, which can hold passwords: what holds settings may be printed whole, as libraries do in their logs.
    public var description: String { "GatewaySettings(publicURL: \(publicURL), httpPort: \(listeners.httpPort))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
