// SPDX-License-Identifier: Apache-2.0
import Contracts
import Model
import NIOCore
public import RPC
public import ServiceKit

/// What an operator can decide about the conversations service. The environment's key, range and default stand beside each value.
public struct ConversationsSettings: Sendable {
    /// `STRATA_POSTGRES_URL`, required, secret: the database, as the role `strata_conversations`.
    public var postgresURL: Secret<String>
    /// `STRATA_POSTGRES_CONNECTIONS`, 1 to 64, by default one for each processor, 2 to 8: connections for writes and reads of one conversation, which
    /// share transactions. The fewer there are the larger the groups, and the fewer commits (docs/benchmarks.md); with those of the other services
    /// and instances these should stay near 16.
    public var connections = min(8, max(2, System.coreCount))
    /// `STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS`, 1 to 64: connections for what may wait or take long: creations, sign-ins, lists, replays.
    public var exclusiveConnections = 4
    /// `STRATA_POSTGRES_QUEUE`, 1 to 1,048,576: statements of one of these that wait for a connection; beyond it calls fail at once.
    public var postgresQueue = 8192
    /// `STRATA_POSTGRES_QUEUE_BYTES`, 64 KB to 2 GB: bytes of their parameters.
    public var postgresQueueBytes = 32 << 20
    /// `STRATA_REDIS_QUEUE`, 1 to 1,048,576: commands to Redis that wait or are in flight; beyond it publications are dropped, and counted.
    public var redisQueue = 16_384
    /// `STRATA_REDIS_QUEUE_BYTES`, 64 KB to 2 GB: bytes of their arguments.
    public var redisQueueBytes = 64 << 20
    /// `STRATA_REDIS_URL`, required, secret: where changes are published. The service works without it; gateways then hear of changes later.
    public var redisURL: Secret<String>
    /// `STRATA_RPC_HOST`, `STRATA_RPC_PORT`, `STRATA_CLUSTER_SECRET` and the others of ServiceKit: where calls are taken. Nonces are made from the
    /// cluster secret too.
    public var rpc: RPCServerConfiguration
    /// `STRATA_PARTICIPANTS_LIMIT`, 2 to 10,000: participants of a conversation, its creator included.
    public var participantsLimit = Limits.participants
    /// `STRATA_RECEIPT_AUDIENCE_LIMIT`, 2 to 10,000, the same as the gateways have: receipts in conversations of more participants are announced to the
    /// message's sender and the reader only.
    public var receiptAudienceLimit = 25
    /// `STRATA_RECEIPT_WINDOW`, 0s to 1s: how long a receipt waits for others, with which it becomes one change.
    public var receiptWindow: Duration = .milliseconds(20)
    /// `STRATA_METADATA_MAX_KEYS`, 0 (no limit) to 10,000,000: values that the metadata of a conversation may have, as the metadata service has it.
    public var metadataKeysLimit: Int?
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
        self.postgresURL = Secret(postgresURL)
        self.redisURL = Secret(redisURL)
        self.rpc = rpc
    }

    /// Reads all of them.
    /// - Throws: `SettingsError` naming the key that is missing or out of range.
    public init(_ settings: Settings, _ common: CommonSettings) throws {
        self.init(
            postgresURL: try settings.secret("STRATA_POSTGRES_URL").value, redisURL: try settings.secret("STRATA_REDIS_URL").value,
            rpc: try settings.rpcServer(name: "conversations", common).withMethodNames)
        let (day, decade) = (Duration.seconds(86_400), Duration.seconds(3650 * 86_400))
        connections = try settings.int("STRATA_POSTGRES_CONNECTIONS", default: connections, in: 1...64)
        exclusiveConnections = try settings.int("STRATA_POSTGRES_EXCLUSIVE_CONNECTIONS", default: exclusiveConnections, in: 1...64)
        postgresQueue = try settings.int("STRATA_POSTGRES_QUEUE", default: postgresQueue, in: 1...1 << 20)
        postgresQueueBytes = try settings.int("STRATA_POSTGRES_QUEUE_BYTES", default: postgresQueueBytes, in: 1 << 16...Int(Int32.max))
        redisQueue = try settings.int("STRATA_REDIS_QUEUE", default: redisQueue, in: 1...1 << 20)
        redisQueueBytes = try settings.int("STRATA_REDIS_QUEUE_BYTES", default: redisQueueBytes, in: 1 << 16...Int(Int32.max))
        participantsLimit = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participantsLimit, in: 2...10_000)
        receiptAudienceLimit = try settings.int("STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptAudienceLimit, in: 2...10_000)
        receiptWindow = try settings.duration("STRATA_RECEIPT_WINDOW", default: receiptWindow, in: .zero ... .seconds(1))
        let keys = try settings.int("STRATA_METADATA_MAX_KEYS", default: 0, in: 0...10_000_000)
        metadataKeysLimit = keys == 0 ? nil : keys
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
                "postgresURL": postgresURL, "connections": connections, "exclusiveConnections": exclusiveConnections, "redisURL": redisURL,
                "postgresQueue": postgresQueue, "postgresQueueBytes": postgresQueueBytes, "redisQueue": redisQueue,
                "redisQueueBytes": redisQueueBytes, "rpc": "\(rpc.host):\(rpc.port)", "participantsLimit": participantsLimit,
                "receiptAudienceLimit": receiptAudienceLimit,
                "receiptWindow": receiptWindow, "metadataKeysLimit": metadataKeysLimit as Any,
                "retention": retention, "sessionLifetime": sessionLifetime, "maintenanceInterval": maintenanceInterval,
            ])
    }
}
