// SPDX-License-Identifier: Apache-2.0

import Contracts
public import RPC
public import ServiceKit

/// The settings of the presence service. Each value names its environment variable.
public struct PresenceSettings: ServiceSettings {
    /// The Redis server that holds all state and on which changes are published.
    public var redis: RedisSettings
    /// The server for calls, with the secret that callers must hold (`STRATA_RPC_…`).
    public var rpc: RPCServerConfiguration
    /// The time limit of one request to Redis. `STRATA_PRESENCE_REDIS_TIMEOUT`: 10ms to 10s, default 500ms. Ephemeral
    /// data is not worth a longer wait.
    public var redisTimeout: Duration = .milliseconds(500)
    /// The periods of typing.
    public var typing = TypingSettings()
    /// The periods of presence.
    public var presence = PresencePeriods()

    /// Creates settings with these addresses and otherwise the defaults above.
    public init(redisURL: String, rpc: RPCServerConfiguration) {
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the missing or invalid key.
    public init(_ settings: Settings, common: CommonSettings) throws {
        redis = try RedisSettings(settings)
        rpc = try settings.rpcServer(name: "presence", common).withMethodNames
        redisTimeout = try settings.duration(
            "STRATA_PRESENCE_REDIS_TIMEOUT", default: redisTimeout, in: .milliseconds(10) ... .seconds(10))
        typing = try TypingSettings(settings)
        presence = try PresencePeriods(settings)
    }
}

extension PresenceSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the Redis URL, which can hold passwords. Libraries may log objects that hold settings.
    public var description: String { "PresenceSettings(rpc: \(rpc))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
