// SPDX-License-Identifier: Apache-2.0
import Contracts
public import Logging
import Model
public import NIOCore
import Postgres
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle

/// The conversations service: accounts, conversations, messages and the change log, answered over RPC.
///
/// It is put together but does nothing until ``services`` are run. There is no state in it that another instance would miss.
public final class ConversationsService: Sendable {
    private let database: Database
    private let redis: RedisClient
    private let epoch: EpochSource
    private let maintenance: Maintenance
    private let server: RPCServer

    /// Puts the service together; nothing is connected yet.
    /// - Throws: an error that names the setting at fault.
    public init(_ settings: ConversationsSettings, eventLoopGroup: any EventLoopGroup, logger: Logger) throws {
        let database = try Self.database(settings, logger: logger)
        var redisConfiguration = try RedisConfiguration(url: settings.redisURL.value)
        redisConfiguration.clientName = "strata-conversations"
        redisConfiguration.queueLimit = settings.redisQueue
        redisConfiguration.queueLimitBytes = settings.redisQueueBytes
        let redis = RedisClient(configuration: redisConfiguration, eventLoopGroup: eventLoopGroup, logger: logger)
        let epoch = EpochSource(database: database)
        let publisher = Publisher(redis: redis, epoch: { epoch.known }, logger: logger)
        let router = Self.router(settings, database: database, epoch: epoch, publisher: publisher, logger: logger)
        self.epoch = epoch
        self.database = database
        self.redis = redis
        maintenance = Maintenance(
            database: database, retention: settings.retention, interval: settings.maintenanceInterval, logger: logger)
        server = RPCServer(configuration: settings.rpc, eventLoopGroup: eventLoopGroup, logger: logger) { context, payload in
            try await router.handle(context, payload)
        }
    }

    /// Everything that has to run, in the order of dependency: on shutdown the server finishes its calls while the pools still work.
    public var services: [any Service] { [redis, database.hot, database.exclusive, database.large, epoch, maintenance, server] }

    /// The port at which calls are taken. Waits until the server listens.
    public var boundPort: Int {
        get async throws { try await server.boundPort }
    }

    /// Adds the question whether the service can do its work: the database answers. Redis is not asked, since writes go on without it.
    public func addChecks(to health: Health) {
        health.add("postgres") { [database] in
            guard await database.hot.isReachable(deadline: .now + .seconds(2)) else { throw Failure.unavailable }
        }
    }

    private static func database(_ settings: ConversationsSettings, logger: Logger) throws -> Database {
        var hot = try PostgresConfiguration(url: settings.postgresURL.value)
        hot.applicationName = "strata-conversations"
        hot.connections = settings.connections
        hot.queueLimitStatements = settings.postgresQueue
        hot.queueLimitBytes = settings.postgresQueueBytes
        var exclusive = hot
        exclusive.connections = settings.exclusiveConnections
        // Long enough for maintenance; callers have deadlines of their own.
        exclusive.statementTimeout = .seconds(30)
        var large = exclusive
        large.connections = settings.largeConnections
        large.applicationName = "strata-conversations-large"
        return Database(
            hot: PostgresPool(configuration: hot, mode: .grouping, logger: logger),
            exclusive: PostgresPool(configuration: exclusive, mode: .exclusive, logger: logger),
            large: PostgresPool(configuration: large, mode: .exclusive, logger: logger))
    }

    private static func router(
        _ settings: ConversationsSettings, database: Database, epoch: EpochSource, publisher: Publisher, logger: Logger
    ) -> CallRouter {
        let directory = IdentityDirectory(database: database)
        let signIn = SignIn(
            database: database, directory: directory, publisher: publisher, keys: AppKeys(database: database),
            nonceKey: Nonce.Key(clusterSecret: settings.rpc.clusterSecret), sessionLifetime: settings.sessionLifetime, logger: logger)
        let sessions = Sessions(database: database, publisher: publisher, lifetime: settings.sessionLifetime)
        var router = CallRouter(logger: logger)
        AccountCalls(signIn: signIn, sessions: sessions, directory: directory).register(on: &router)
        let support = CallSupport(
            database: database, directory: directory, publisher: publisher, epoch: epoch,
            participantsLimit: settings.participantsLimit, partsLimit: settings.partsLimit,
            receiptAudienceLimit: settings.receiptAudienceLimit, metadataLimits: settings.metadataLimits,
            metadataValidation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems), quotas: settings.quotas)
        register(support, receiptWindow: settings.receiptWindow, on: &router)
        return router
    }

    /// Adds every call but those of accounts to `router`.
    static func register(_ support: CallSupport, receiptWindow: Duration, on router: inout CallRouter) {
        let receipts = ReceiptGatherer(
            database: support.database, publisher: support.publisher, window: receiptWindow, audienceLimit: support.receiptAudienceLimit)
        Following(support).register(on: &router)
        ConversationCalls(support).register(on: &router)
        MessageCalls(support, receipts: receipts).register(on: &router)
        PartCalls(support).register(on: &router)
        SyncCalls(support).register(on: &router)
        AnnouncementCalls(support).register(on: &router)
        ContentCalls(support).register(on: &router)
        PushTokens(support).register(on: &router)
    }
}
