// SPDX-License-Identifier: Apache-2.0
import Contracts
public import DatabaseKit
import NIOCore
public import RPC
public import ServiceKit
public import StrataModel

/// The settings of the conversations service. Each value's comment names its environment variable, range and default.
public struct ConversationsSettings: ServiceSettings {
    /// The database, with the role `strata_conversations`.
    public var postgres: PostgresSettings
    /// The number of connections for writes and reads of one conversation, which share transactions.
    /// `STRATA_POSTGRES_CONNECTIONS`: 1 to 64; default: one for each processor, 2 to 8.
    ///
    /// Fewer connections make larger groups and fewer commits (docs/benchmarks.md). The total of all services and
    /// instances should be near 16.
    public var connections = min(8, max(2, System.coreCount))
    /// The number of connections for statements that may wait or take long: creations, sign-ins, lists, replays.
    /// `STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS`: 1 to 64.
    public var exclusiveConnections = 4
    /// The number of connections for large metadata. Each patch and creation runs in its own transaction there, so that
    /// it does not delay the other pools. `STRATA_POSTGRES_LARGE_CONNECTIONS`: 1 to 64.
    public var largeConnections = 2
    /// The Redis server on which changes are published. The service works without it; gateways then find changes later.
    public var redis: RedisSettings
    /// The configuration of the RPC server: `STRATA_RPC_HOST`, `STRATA_RPC_PORT`, `STRATA_CLUSTER_SECRET` and the
    /// others of ServiceKit. Nonces are derived from the cluster secret, too.
    public var rpc: RPCServerConfiguration
    /// The maximum number of participants of a conversation, including its creator. `STRATA_PARTICIPANTS_LIMIT`: 2 to
    /// 10,000.
    public var participantsLimit = Limits.participants
    /// The maximum number of parts of one message. `STRATA_MESSAGE_PARTS_LIMIT`: 1 to 10,000. The gateways must have
    /// the same value.
    public var partsLimit = Limits.partsPerMessage
    /// The maximum number of participants for which receipts are announced to all of them. In larger conversations,
    /// only the message's sender and the reader receive them. `STRATA_RECEIPT_AUDIENCE_LIMIT`: 2 to 10,000. The
    /// gateways must have the same value.
    public var receiptAudienceLimit = 25
    /// The time for which a receipt waits for others, with which it becomes one change. `STRATA_RECEIPT_WINDOW`: 0s to
    /// 1s.
    public var receiptWindow: Duration = .milliseconds(20)
    /// The limits on the metadata of a conversation. The metadata service must have the same values.
    ///
    /// - `STRATA_METADATA_MAX_KEYS`, 0 (no limit) to 10,000,000: the number of values.
    /// - `STRATA_METADATA_MAX_BYTES`, 0 (no limit) to 1 GB: the bytes of all paths and values.
    public var metadataLimits = MetadataLimits(bytes: Limits.metadataTreeBytes)
    /// The quotas of users and apps. `0`: no limit.
    ///
    /// - `STRATA_FOLLOWED_LIMIT`, up to 1,000,000: users that one user follows without having met them.
    /// - `STRATA_BLOCKED_LIMIT`, up to 1,000,000: users that one user has blocked.
    /// - `STRATA_PUSH_TOKENS_LIMIT`, up to 10,000: devices of one user.
    /// - `STRATA_UPLOADS_LIMIT`, up to 100,000: contents of one user that no message refers to.
    /// - `STRATA_UPLOADS_BYTES`: the announced bytes of these contents.
    /// - `STRATA_APP_UPLOADS_LIMIT`, up to 10,000,000: contents of all users of an app that no message refers to.
    /// - `STRATA_APP_UPLOADS_BYTES`: the announced bytes of these contents.
    /// - `STRATA_DELAYED_MESSAGES_LIMIT`, up to 1,000,000: pending delayed messages of an app's own server.
    public var quotas = Quotas()
    /// The maximum number of operations and values in one patch. `STRATA_METADATA_MAX_PATCH_ITEMS`: 1 to 1,000,000. The
    /// metadata service must have the same value.
    public var maximumPatchItems = MetadataPatchValidation.defaultMaximumItems
    /// The retention time of the change log. `STRATA_RETENTION`: 48h to 3650d. A client that was away longer loads
    /// everything anew instead of a replay. The minimum is two days, so that a weekend's absence is not too long.
    public var retention: Duration = .seconds(30 * 86_400)
    /// The lifetime of an unused session. `STRATA_SESSION_LIFETIME`: 1h to 3650d. Stock clients keep a token for 30
    /// days.
    public var sessionLifetime: Duration = .seconds(30 * 86_400)
    /// The interval at which partitions are created and dropped, and expired nonces and sessions are removed.
    /// `STRATA_MAINTENANCE_INTERVAL`: 1s to 1d. Each pause varies randomly by up to a fifth.
    public var maintenanceInterval: Duration = .seconds(600)

    /// Creates settings with the required values and the defaults.
    public init(postgresURL: String, redisURL: String, rpc: RPCServerConfiguration) {
        postgres = PostgresSettings(url: postgresURL)
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError` naming the key that is missing or out of range.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        redis = try RedisSettings(settings)
        rpc = try settings.rpcServer(name: "conversations", common).withMethodNames
        let (day, decade) = (Duration.seconds(86_400), Duration.seconds(3650 * 86_400))
        connections = try settings.int("STRATA_POSTGRES_CONNECTIONS", default: connections, in: 1...64)
        exclusiveConnections = try settings.int(
            "STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS", default: exclusiveConnections, in: 1...64)
        largeConnections = try settings.int("STRATA_POSTGRES_LARGE_CONNECTIONS", default: largeConnections, in: 1...64)
        participantsLimit = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participantsLimit, in: 2...10_000)
        partsLimit = try settings.int("STRATA_MESSAGE_PARTS_LIMIT", default: partsLimit, in: 1...10_000)
        receiptAudienceLimit = try settings.int(
            "STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptAudienceLimit, in: 2...10_000)
        receiptWindow = try settings.duration(
            "STRATA_RECEIPT_WINDOW", default: receiptWindow, in: .zero ... .seconds(1))
        let keys = try settings.int("STRATA_METADATA_MAX_KEYS", default: 0, in: 0...10_000_000)
        let bytes = try settings.int("STRATA_METADATA_MAX_BYTES", default: Limits.metadataTreeBytes, in: 0...1 << 30)
        metadataLimits = MetadataLimits(keys: keys == 0 ? nil : keys, bytes: bytes == 0 ? nil : bytes)
        quotas = try Quotas(settings)
        maximumPatchItems = try settings.int(
            "STRATA_METADATA_MAX_PATCH_ITEMS", default: maximumPatchItems, in: 1...1_000_000)
        retention = try settings.duration("STRATA_RETENTION", default: retention, in: day * 2...decade)
        sessionLifetime = try settings.duration(
            "STRATA_SESSION_LIFETIME", default: sessionLifetime, in: .seconds(3600)...decade)
        maintenanceInterval = try settings.duration(
            "STRATA_MAINTENANCE_INTERVAL", default: maintenanceInterval, in: .seconds(1)...day)
    }
}

extension ConversationsSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// All values except the secret ones.
    public var description: String {
        "ConversationsSettings("
            + customMirror.children.map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ") + ")"
    }

    /// All values except the secret ones.
    public var debugDescription: String { description }

    /// The values. Only the address of the RPC configuration is included, because it contains the cluster secret in
    /// plain text.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "postgresURL": postgres.url, "connections": connections, "exclusiveConnections": exclusiveConnections,
                "largeConnections": largeConnections, "redisURL": redis.url,
                "postgresQueue": postgres.queue, "postgresQueueBytes": postgres.queueBytes, "redisQueue": redis.queue,
                "redisQueueBytes": redis.queueBytes, "rpc": "\(rpc.host):\(rpc.port)",
                "participantsLimit": participantsLimit,
                "receiptAudienceLimit": receiptAudienceLimit,
                "receiptWindow": receiptWindow, "metadataLimits": metadataLimits,
                "maximumPatchItems": maximumPatchItems,
                "quotas": quotas,
                "retention": retention, "sessionLifetime": sessionLifetime, "maintenanceInterval": maintenanceInterval,
            ])
    }
}

extension Quotas {
    /// Reads the quotas from the environment.
    /// - Throws: `SettingsError` naming the key that is out of range.
    init(_ settings: Settings) throws {
        self.init()
        func limit(_ key: String, default standard: Int?, most: Int) throws -> Int? {
            let value = try settings.int(key, default: standard ?? 0, in: 0...most)
            return value == 0 ? nil : value
        }
        followed = try limit("STRATA_FOLLOWED_LIMIT", default: followed, most: 1_000_000)
        blocked = try limit("STRATA_BLOCKED_LIMIT", default: blocked, most: 1_000_000)
        pushTokens = try limit("STRATA_PUSH_TOKENS_LIMIT", default: pushTokens, most: 10_000)
        uploads = try limit("STRATA_UPLOADS_LIMIT", default: uploads, most: 100_000)
        uploadBytes = try limit("STRATA_UPLOADS_BYTES", default: uploadBytes, most: 1 << 50)
        appUploads = try limit("STRATA_APP_UPLOADS_LIMIT", default: appUploads, most: 10_000_000)
        appUploadBytes = try limit("STRATA_APP_UPLOADS_BYTES", default: appUploadBytes, most: 1 << 60)
        delayedMessages = try limit("STRATA_DELAYED_MESSAGES_LIMIT", default: delayedMessages, most: 1_000_000)
    }
}
