// SPDX-License-Identifier: Apache-2.0
import Contracts
public import RPC
public import ServiceKit
import StrataModel

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

/// The periods of presence. All instances must use the same values.
///
/// With the defaults, followers are notified within 30 seconds that a user is offline. This holds after the end of the
/// user's last connection and after the death of its gateway. ``lease`` and ``grace`` are shorter than 30 seconds by
/// more than the duration of a sweep.
public struct PresencePeriods: Sendable {
    /// The time that a connection's status lasts without renewal by its gateway. `STRATA_PRESENCE_LEASE`: 3s to 1h,
    /// default 27s. Gateways are asked to renew three times in that period.
    public var lease: Duration = .seconds(27)
    /// The time for which a user keeps a status after a disconnect, so that a short network failure is not announced to
    /// all followers (docs/conformance.md §12.8). `STRATA_PRESENCE_GRACE`: 100ms to 15m, default 25s.
    public var grace: Duration = .seconds(25)
    /// The time for which a user's chosen status and last-seen time are kept. `STRATA_PRESENCE_RETENTION`: 1h to 365d,
    /// default 30d.
    public var retention: Duration = .seconds(30 * 86_400)
    /// The mean time between two sweeps for expired leases. `STRATA_PRESENCE_SWEEP`: 10ms to 1m, default 1s.
    public var sweepEvery: Duration = .seconds(1)
    /// The maximum number of users of one shard in one sweep. `STRATA_PRESENCE_SWEEP_BATCH`: 1 to 10,000, default 200.
    public var sweepBatch = 200

    /// The period in which gateways are to renew leases. Two of three attempts may fail.
    var renewAfter: Duration { lease / 3 }

    /// The maximum time between the end of a user's last connection, or of its gateway, and the announcement, provided
    /// that Redis answers. It is the longer of lease and grace, plus the pause between two sweeps.
    var longestUntilOffline: Duration { max(lease, grace) + sweepEvery * 1.25 }

    /// Creates the default periods.
    public init() {}

    /// Reads the periods from the environment.
    /// - Throws: `SettingsError`, which names the invalid key.
    public init(_ settings: Settings) throws {
        lease = try settings.duration("STRATA_PRESENCE_LEASE", default: lease, in: .seconds(3) ... .seconds(3600))
        grace = try settings.duration("STRATA_PRESENCE_GRACE", default: grace, in: .milliseconds(100) ... .seconds(900))
        retention = try settings.duration(
            "STRATA_PRESENCE_RETENTION", default: retention, in: .seconds(3600) ... .seconds(365 * 86_400))
        sweepEvery = try settings.duration(
            "STRATA_PRESENCE_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(60))
        sweepBatch = try settings.int("STRATA_PRESENCE_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }
}

/// Typing timeouts. All instances must use the same values, except during a rolling change.
public struct TypingSettings: Sendable {
    /// The duration of `started` without renewal, after which it becomes `paused`. `STRATA_TYPING_PAUSE`: 100ms to 10m,
    /// default 10s.
    public var pauseAfter: Duration = .seconds(10)
    /// The duration of `paused` without renewal, after which it becomes `finished`. `STRATA_TYPING_FINISH`: 100ms to
    /// 10m, default 10s.
    public var finishAfter: Duration = .seconds(10)
    /// The interval at which an unchanged state is announced again. `STRATA_TYPING_REPEAT`: 0s to 10m, default 2500ms.
    /// Stock receivers forget a typist after 6 s.
    public var repeatAfter: Duration = .milliseconds(2500)
    /// The mean time between two sweeps. `STRATA_TYPING_SWEEP`: 10ms to 5s, default 100ms.
    public var sweepEvery: Duration = .milliseconds(100)
    /// The maximum number of states that one script ends. `STRATA_TYPING_SWEEP_BATCH`: 1 to 10,000, default 500. Redis
    /// runs no other command meanwhile.
    public var sweepBatch = 500

    /// Creates the default settings.
    public init() {}

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the invalid key.
    public init(_ settings: Settings) throws {
        let periods = Duration.milliseconds(100) ... .seconds(600)
        pauseAfter = try settings.duration("STRATA_TYPING_PAUSE", default: pauseAfter, in: periods)
        finishAfter = try settings.duration("STRATA_TYPING_FINISH", default: finishAfter, in: periods)
        repeatAfter = try settings.duration("STRATA_TYPING_REPEAT", default: repeatAfter, in: .zero ... .seconds(600))
        sweepEvery = try settings.duration(
            "STRATA_TYPING_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(5))
        sweepBatch = try settings.int("STRATA_TYPING_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }

    /// Returns the time for which an announcement of `action` is valid. A gateway that receives nothing more within
    /// that time sends its clients `finished` itself: the end was lost, or no instance could announce it.
    ///
    /// The time covers the longest silence after `started`: a renewal that is not announced can come up to
    /// ``repeatAfter`` later, and then both timeouts run. The additional 2.5 s cover the sweep and the network.
    func goodFor(_ action: TypingAction) -> Duration {
        let margin = repeatAfter + max(.milliseconds(2500), sweepEvery * 2)
        return switch action {
        case .started: pauseAfter + finishAfter + margin
        case .paused: finishAfter + margin
        case .finished: .zero
        }
    }

    /// The time after the last event at which the keys expire, in case no instance sweeps.
    var timeToLive: Duration { pauseAfter + finishAfter + .seconds(60) }
}
