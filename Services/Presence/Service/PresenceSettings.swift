// SPDX-License-Identifier: Apache-2.0

import Contracts
public import RPC
public import ServiceKit

/// What the presence service can be told.
public struct PresenceSettings: ServiceSettings {
    /// Where all state is, and where it is published.
    public var redis: RedisSettings
    /// `STRATA_RPC_…`: where calls are answered, and the secret callers must hold.
    public var rpc: RPCServerConfiguration
    /// `STRATA_PRESENCE_REDIS_TIMEOUT` (500ms; 10ms to 10s): how long one request waits for Redis. What is ephemeral is not worth a longer wait.
    public var redisTimeout: Duration = .milliseconds(500)
    /// The periods of typing.
    public var typing = TypingSettings()
    /// The periods of presence.
    public var presence = PresencePeriods()

    /// Settings with these addresses, and for the rest the defaults above.
    public init(redisURL: String, rpc: RPCServerConfiguration) {
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that is missing or cannot be used.
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
    /// Leaves out the URL of Redis, which can hold passwords: what holds settings may be printed whole, as libraries do in their logs.
    public var description: String { "PresenceSettings(rpc: \(rpc))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
