// SPDX-License-Identifier: Apache-2.0

public import ServiceKit

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
