// SPDX-License-Identifier: Apache-2.0
import Contracts
public import DatabaseKit
import NIOCore
public import RPC
public import ServiceKit
public import StrataModel

/// What an operator can decide about the conversations service. The environment's key, range and default stand beside each value.
public struct ConversationsSettings: ServiceSettings {
    /// The database, as the role `strata_conversations`.
    public var postgres: PostgresSettings
    /// `STRATA_POSTGRES_CONNECTIONS`, 1 to 64, by default one for each processor, 2 to 8: connections for writes and reads of one conversation, which
    /// share transactions. The fewer there are the larger the groups, and the fewer commits (docs/benchmarks.md); with those of the other services
    /// and instances these should stay near 16.
    public var connections = min(8, max(2, System.coreCount))
    /// `STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS`, 1 to 64: connections for what may wait or take long: creations, sign-ins, lists, replays.
    public var exclusiveConnections = 4
    /// `STRATA_POSTGRES_LARGE_CONNECTIONS`, 1 to 64: connections for large metadata, each patch and creation alone, so that those above do not wait for it.
    public var largeConnections = 2
    /// Where changes are published. The service works without it; gateways then hear of changes later.
    public var redis: RedisSettings
    /// `STRATA_RPC_HOST`, `STRATA_RPC_PORT`, `STRATA_CLUSTER_SECRET` and the others of ServiceKit: where calls are taken. Nonces are made from the
    /// cluster secret too.
    public var rpc: RPCServerConfiguration
    /// `STRATA_PARTICIPANTS_LIMIT`, 2 to 10,000: participants of a conversation, its creator included.
    public var participantsLimit = Limits.participants
    /// `STRATA_MESSAGE_PARTS_LIMIT`, 1 to 10,000, the same as the gateways have: parts of one message.
    public var partsLimit = Limits.partsPerMessage
    /// `STRATA_RECEIPT_AUDIENCE_LIMIT`, 2 to 10,000, the same as the gateways have: receipts in conversations of more participants are announced to the
    /// message's sender and the reader only.
    public var receiptAudienceLimit = 25
    /// `STRATA_RECEIPT_WINDOW`, 0s to 1s: how long a receipt waits for others, with which it becomes one change.
    public var receiptWindow: Duration = .milliseconds(20)
    /// `STRATA_METADATA_MAX_KEYS`, 0 (no limit) to 10,000,000: values that the metadata of a conversation may have. `STRATA_METADATA_MAX_BYTES`, 0 (no
    /// limit) to 1 GB: bytes of their paths and values. The same as the metadata service has.
    public var metadataLimits = MetadataLimits(bytes: Limits.metadataTreeBytes)
    /// What one user, or one app, may have. `0` is no limit. `STRATA_FOLLOWED_LIMIT`, up to 1,000,000: users that one user follows without having met them.
    /// `STRATA_BLOCKED_LIMIT`, up to 1,000,000: users that one user has blocked.
    /// `STRATA_PUSH_TOKENS_LIMIT`, up to 10,000: devices of one user. `STRATA_UPLOADS_LIMIT`, up to 100,000, and `STRATA_UPLOADS_BYTES`: contents of one
    /// user that are in no message, and their bytes as announced. `STRATA_APP_UPLOADS_LIMIT`, up to 10,000,000, and `STRATA_APP_UPLOADS_BYTES`: those of
    /// all users of an app. `STRATA_DELAYED_MESSAGES_LIMIT`, up to 1,000,000: messages of an app's own server that wait for their time.
    public var quotas = Quotas()
    /// `STRATA_METADATA_MAX_PATCH_ITEMS`, 1 to 1,000,000: operations and values of one patch, as the metadata service has it.
    public var maximumPatchItems = MetadataPatchValidation.defaultMaximumItems
    /// `STRATA_RETENTION`, 48h to 3650d: how long the change log is kept: who was away longer loads everything anew instead of a replay. Never under
    /// two days, or a weekend's absence is too long.
    public var retention: Duration = .seconds(30 * 86_400)
    /// `STRATA_SESSION_LIFETIME`, 1h to 3650d: how long a session lives that is not used. Stock clients keep a token for 30 days.
    public var sessionLifetime: Duration = .seconds(30 * 86_400)
    /// `STRATA_MAINTENANCE_INTERVAL`, 1s to 1d: how often partitions are made and dropped, and expired nonces and sessions swept. Each pause is
    /// lengthened or shortened at random by up to a fifth.
    public var maintenanceInterval: Duration = .seconds(600)

    /// The required ones; everything else has its default.
    public init(postgresURL: String, redisURL: String, rpc: RPCServerConfiguration) {
        postgres = PostgresSettings(url: postgresURL)
        redis = RedisSettings(url: redisURL)
        self.rpc = rpc
    }

    /// Reads all of them.
    /// - Throws: `SettingsError` naming the key that is missing or out of range.
    public init(_ settings: Settings, common: CommonSettings) throws {
        postgres = try PostgresSettings(settings)
        redis = try RedisSettings(settings)
        rpc = try settings.rpcServer(name: "conversations", common).withMethodNames
        let (day, decade) = (Duration.seconds(86_400), Duration.seconds(3650 * 86_400))
        connections = try settings.int("STRATA_POSTGRES_CONNECTIONS", default: connections, in: 1...64)
        exclusiveConnections = try settings.int("STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS", default: exclusiveConnections, in: 1...64)
        largeConnections = try settings.int("STRATA_POSTGRES_LARGE_CONNECTIONS", default: largeConnections, in: 1...64)
        participantsLimit = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participantsLimit, in: 2...10_000)
        partsLimit = try settings.int("STRATA_MESSAGE_PARTS_LIMIT", default: partsLimit, in: 1...10_000)
        receiptAudienceLimit = try settings.int("STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptAudienceLimit, in: 2...10_000)
        receiptWindow = try settings.duration("STRATA_RECEIPT_WINDOW", default: receiptWindow, in: .zero ... .seconds(1))
        let keys = try settings.int("STRATA_METADATA_MAX_KEYS", default: 0, in: 0...10_000_000)
        let bytes = try settings.int("STRATA_METADATA_MAX_BYTES", default: Limits.metadataTreeBytes, in: 0...1 << 30)
        metadataLimits = MetadataLimits(keys: keys == 0 ? nil : keys, bytes: bytes == 0 ? nil : bytes)
        quotas = try Quotas(settings)
        maximumPatchItems = try settings.int("STRATA_METADATA_MAX_PATCH_ITEMS", default: maximumPatchItems, in: 1...1_000_000)
        retention = try settings.duration("STRATA_RETENTION", default: retention, in: day * 2...decade)
        sessionLifetime = try settings.duration("STRATA_SESSION_LIFETIME", default: sessionLifetime, in: .seconds(3600)...decade)
        maintenanceInterval = try settings.duration("STRATA_MAINTENANCE_INTERVAL", default: maintenanceInterval, in: .seconds(1)...day)
    }
}

extension ConversationsSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// All values but the secret ones.
    public var description: String {
        "ConversationsSettings(" + customMirror.children.map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ") + ")"
    }

    /// All values but the secret ones.
    public var debugDescription: String { description }

    /// The values; of the calls' configuration, which holds the cluster secret in the clear, only where it listens.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "postgresURL": postgres.url, "connections": connections, "exclusiveConnections": exclusiveConnections,
                "largeConnections": largeConnections, "redisURL": redis.url,
                "postgresQueue": postgres.queue, "postgresQueueBytes": postgres.queueBytes, "redisQueue": redis.queue,
                "redisQueueBytes": redis.queueBytes, "rpc": "\(rpc.host):\(rpc.port)", "participantsLimit": participantsLimit,
                "receiptAudienceLimit": receiptAudienceLimit,
                "receiptWindow": receiptWindow, "metadataLimits": metadataLimits, "maximumPatchItems": maximumPatchItems,
                "quotas": quotas,
                "retention": retention, "sessionLifetime": sessionLifetime, "maintenanceInterval": maintenanceInterval,
            ])
    }
}

extension Quotas {
    /// Reads all of them.
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
