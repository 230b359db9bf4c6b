// SPDX-License-Identifier: Apache-2.0

public import ServiceKit

/// The periods of presence. Every instance must have the same.
///
/// With the defaults followers are told that a user is offline within 30 seconds of the end of that user's last connection, or of the death of its gateway:
/// ``lease`` and ``grace`` are shorter than that by more than a sweep takes.
public struct PresencePeriods: Sendable {
    /// `STRATA_PRESENCE_LEASE` (27s; 3s to 1h): how long a connection's status lasts unless its gateway renews it. The service tells gateways to renew three
    /// times in that period.
    public var lease: Duration = .seconds(27)
    /// `STRATA_PRESENCE_GRACE` (25s; 100ms to 15m): how long a user keeps a status after a disconnect, so that a short loss of the network
    /// is not announced to all followers (docs/conformance.md §12.8).
    public var grace: Duration = .seconds(25)
    /// `STRATA_PRESENCE_RETENTION` (30d; 1h to 365d): how long the presence service remembers the status that a user chose, and when the user was
    /// last seen.
    public var retention: Duration = .seconds(30 * 86_400)
    /// `STRATA_PRESENCE_SWEEP` (1s; 10ms to 1m): the mean time between two looks for leases that have ended.
    public var sweepEvery: Duration = .seconds(1)
    /// `STRATA_PRESENCE_SWEEP_BATCH` (200; 1 to 10,000): users of one shard looked at in one go.
    public var sweepBatch = 200

    /// When gateways are asked to renew leases: two of three tries may fail.
    var renewAfter: Duration { lease / 3 }

    /// The longest time between the end of a user's last connection, or of its gateway, and the announcement, if Redis answers: the later of the two ends,
    /// and a pause between two looks.
    var longestUntilOffline: Duration { max(lease, grace) + sweepEvery * 1.25 }

    /// The defaults.
    public init() {}

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that cannot be used.
    public init(_ settings: Settings) throws {
        lease = try settings.duration("STRATA_PRESENCE_LEASE", default: lease, in: .seconds(3) ... .seconds(3600))
        grace = try settings.duration("STRATA_PRESENCE_GRACE", default: grace, in: .milliseconds(100) ... .seconds(900))
        retention = try settings.duration("STRATA_PRESENCE_RETENTION", default: retention, in: .seconds(3600) ... .seconds(365 * 86_400))
        sweepEvery = try settings.duration("STRATA_PRESENCE_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(60))
        sweepBatch = try settings.int("STRATA_PRESENCE_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }
}
