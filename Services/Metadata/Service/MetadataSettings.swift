// SPDX-License-Identifier: Apache-2.0

import Contracts
public import DatabaseKit
public import RPC
public import ServiceKit
public import StrataModel

/// The settings of the metadata service. Each value names its environment variable.
public struct MetadataSettings: ServiceSettings {
    /// The database, with the role `strata_metadata`.
    public var postgres: PostgresSettings
    /// The Redis server on which changes are published.
    public var redis: RedisSettings
    /// The server for calls, with the secret that callers must hold (`STRATA_RPC_…`).
    public var rpc: RPCServerConfiguration
    /// The number of connections for patches, which share commits. `STRATA_METADATA_WRITE_CONNECTIONS`: 1 to 64,
    /// default 4. More connections soon reduce the throughput.
    public var writeConnections = 4
    /// The number of connections for patches of many keys. `STRATA_METADATA_LARGE_CONNECTIONS`: 1 to 64, default 2.
    /// Each such patch runs alone, so that no other patch waits in a transaction with it.
    public var largeConnections = 2
    /// The limits of one conversation's metadata, equal to those of the conversations service:
    /// - `STRATA_METADATA_MAX_KEYS`: the number of values, up to 10,000,000, default 0 (no limit).
    /// - `STRATA_METADATA_MAX_BYTES`: the bytes of paths and values, up to 1 GB, default 1 MB; 0 means no limit.
    public var limits = MetadataLimits(bytes: Limits.metadataTreeBytes)
    /// The maximum number of operations and values of one patch. `STRATA_METADATA_MAX_PATCH_ITEMS`: 1 to 1,000,000,
    /// default 20,000. The conversation is locked during a patch; 20,000 items take about a second.
    public var maximumPatchItems = MetadataPatchValidation.defaultMaximumItems

    /// Creates settings with these addresses and otherwise the defaults above.
    public init(postgresURL: String, redisURL: String, rpc: RPCServerConfiguration) {
        postgres = PostgresSettings(url: postgresURL)
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the missing or invalid key.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        redis = try RedisSettings(settings)
        rpc = try settings.rpcServer(name: "metadata", common).withMethodNames
        writeConnections = try settings.int("STRATA_METADATA_WRITE_CONNECTIONS", default: writeConnections, in: 1...64)
        largeConnections = try settings.int("STRATA_METADATA_LARGE_CONNECTIONS", default: largeConnections, in: 1...64)
        let keys = try settings.int("STRATA_METADATA_MAX_KEYS", default: 0, in: 0...10_000_000)
        let bytes = try settings.int("STRATA_METADATA_MAX_BYTES", default: Limits.metadataTreeBytes, in: 0...1 << 30)
        limits = MetadataLimits(keys: keys == 0 ? nil : keys, bytes: bytes == 0 ? nil : bytes)
        maximumPatchItems = try settings.int(
            "STRATA_METADATA_MAX_PATCH_ITEMS", default: maximumPatchItems, in: 1...1_000_000)
    }
}

extension MetadataSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the URLs of PostgreSQL and Redis, which can hold passwords. Libraries may log objects that
    /// hold settings.
    public var description: String { "MetadataSettings(rpc: \(rpc))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
