// SPDX-License-Identifier: Apache-2.0

import Contracts
public import DatabaseKit
public import RPC
public import ServiceKit
public import StrataModel

/// What the metadata service can be told.
public struct MetadataSettings: ServiceSettings {
    /// The database, as the role `strata_metadata`.
    public var postgres: PostgresSettings
    /// Where changes are published.
    public var redis: RedisSettings
    /// `STRATA_RPC_…`: where calls are answered, and the secret callers must hold.
    public var rpc: RPCServerConfiguration
    /// `STRATA_METADATA_WRITE_CONNECTIONS` (4; 1 to 64): connections for patches, which share commits; more are soon slower.
    public var writeConnections = 4
    /// `STRATA_METADATA_LARGE_CONNECTIONS` (2; 1 to 64): connections for patches of many keys, each alone, so that no other patch waits in one
    /// transaction with them.
    public var largeConnections = 2
    /// `STRATA_METADATA_READ_CONNECTIONS` (3; 1 to 64): connections for trees.
    public var readConnections = 3
    /// `STRATA_METADATA_MAX_KEYS` (0: no limit; up to 10,000,000): values that one conversation may have. `STRATA_METADATA_MAX_BYTES` (1 MB; 0: no
    /// limit; up to 1 GB): bytes of their paths and values. The same as the conversations service has.
    public var limits = MetadataLimits(bytes: Limits.metadataTreeBytes)
    /// `STRATA_METADATA_MAX_PATCH_ITEMS` (20,000; 1 to 1,000,000): operations and values of one patch. A conversation is locked while a patch of it is
    /// carried out, 20,000 take about a second.
    public var maximumPatchItems = MetadataPatchValidation.defaultMaximumItems

    /// Settings with these addresses, and for the rest the defaults above.
    public init(postgresURL: String, redisURL: String, rpc: RPCServerConfiguration) {
        postgres = PostgresSettings(url: postgresURL)
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that is missing or cannot be used.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        redis = try RedisSettings(settings)
        rpc = try settings.rpcServer(name: "metadata", common).withMethodNames
        writeConnections = try settings.int("STRATA_METADATA_WRITE_CONNECTIONS", default: writeConnections, in: 1...64)
        largeConnections = try settings.int("STRATA_METADATA_LARGE_CONNECTIONS", default: largeConnections, in: 1...64)
        readConnections = try settings.int("STRATA_METADATA_READ_CONNECTIONS", default: readConnections, in: 1...64)
        let keys = try settings.int("STRATA_METADATA_MAX_KEYS", default: 0, in: 0...10_000_000)
        let bytes = try settings.int("STRATA_METADATA_MAX_BYTES", default: Limits.metadataTreeBytes, in: 0...1 << 30)
        limits = MetadataLimits(keys: keys == 0 ? nil : keys, bytes: bytes == 0 ? nil : bytes)
        maximumPatchItems = try settings.int("STRATA_METADATA_MAX_PATCH_ITEMS", default: maximumPatchItems, in: 1...1_000_000)
    }
}

extension MetadataSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves out the URLs of PostgreSQL and Redis, which can hold passwords: what holds settings may be printed whole, as libraries do in their logs.
    public var description: String { "MetadataSettings(rpc: \(rpc))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
