// SPDX-License-Identifier: Apache-2.0

public import ServiceKit

/// The periods of presence. Every instance must have the same.
public struct PresencePeriods: Sendable {
    /// `STRATA_PRESENCE_LEASE` (60s; 1s to 1h): how long a connection's status lasts unless its gateway renews it. Gateways renew three
    /// times in that period.
    public var lease: Duration = .seconds(60)
    /// `STRATA_PRESENCE_GRACE` (30s; 100ms to 15m): how long a user keeps his status after a disconnect, so that a short loss of his network
    /// is not announced to everybody (spec 12.8).
    public var grace: Duration = .seconds(30)
    /// `STRATA_PRESENCE_RETENTION` (30d; 1h to 365d): how long a user's chosen status and the time he was last seen are remembered.
    public var retention: Duration = .seconds(30 * 86_400)
    /// `STRATA_PRESENCE_SWEEP` (1s; 10ms to 1m): the mean time between two looks for leases that have ended.
    public var sweepEvery: Duration = .seconds(1)
    /// `STRATA_PRESENCE_SWEEP_BATCH` (200; 1 to 10,000): users of one shard looked at in one go.
    public var sweepBatch = 200

    /// The defaults.
    public init() {}

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that cannot be used.
    public init(_ settings: Settings) throws {
        lease = try settings.duration("STRATA_PRESENCE_LEASE", default: lease, in: .seconds(1) ... .seconds(3600))
        grace = try settings.duration("STRATA_PRESENCE_GRACE", default: grace, in: .milliseconds(100) ... .seconds(900))
        retention = try settings.duration("STRATA_PRESENCE_RETENTION", default: retention, in: .seconds(3600) ... .seconds(365 * 86_400))
        sweepEvery = try settings.duration("STRATA_PRESENCE_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(60))
        sweepBatch = try settings.int("STRATA_PRESENCE_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }
}
