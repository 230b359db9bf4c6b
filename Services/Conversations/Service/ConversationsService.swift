// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Logging
import NIOCore
import Postgres
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle
import StrataModel

/// The conversations service: answers RPC calls about accounts, conversations, messages and the change log.
///
/// The service is stateless: any number of instances may run, and any may be killed at any time.
public final class ConversationsService: StrataService {
    /// The executable's name.
    public static let name = "conversations"

    private let database: Database
    private let redis: RedisClient
    private let epoch: EpochSource
    private let recordedApps: RecordedApps
    private let maintenance: Maintenance
    private let indexBuilder: IndexBuilder
    private let delayedMessages: DelayedMessages
    private let erasures: Erasures
    private let server: RPCServer

    /// Creates the service with its dependencies. It opens no connection before it runs.
    /// - Throws: an error that names the invalid setting.
    public init(settings: ConversationsSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let database = try Self.database(settings, logger: logger)
        let redis = RedisClient(
            configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let epoch = EpochSource(database: database.exclusive, counter: "strata_conversations_epoch_checks_total")
        let publisher = Publisher(redis: redis, epoch: { epoch.known }, logger: logger)
        let recordedApps = RecordedApps(database: database.hot, logger: logger)
        (self.database, self.redis, self.epoch, self.recordedApps) = (database, redis, epoch, recordedApps)
        maintenance = Maintenance(
            database: database, retention: settings.retention, interval: settings.maintenanceInterval, logger: logger)
        indexBuilder = IndexBuilder(database: database, logger: logger)
        let directory = IdentityDirectory(database: database)
        let support = ServiceContext(
            database: database, directory: directory, publisher: publisher, epoch: epoch,
            participantsLimit: settings.participantsLimit, partsLimit: settings.partsLimit,
            receiptAudienceLimit: settings.receiptAudienceLimit, metadataLimits: settings.metadataLimits,
            metadataValidation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems),
            quotas: settings.quotas, recordedApps: recordedApps
        )
        delayedMessages = DelayedMessages(support, logger: logger)
        erasures = Erasures(database: database, directory: directory, publisher: publisher, logger: logger)
        server = RPCServer(
            Self.handlers(settings, support, erasures: erasures, logger: logger), configuration: settings.rpc,
            eventLoopGroup: loops, logger: logger)
    }

    /// All services to run, in the order of their dependencies.
    public var services: [any Service] {
        [
            redis, database.hot, database.exclusive, database.large, epoch, recordedApps, maintenance, indexBuilder,
            delayedMessages, erasures,
            server,
        ]
    }

    /// The port of the RPC server. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds the readiness check: the database must answer. Redis is not checked, because writes succeed without it.
    public func addChecks(to health: Health) {
        health.add("postgres") { [database] in try await database.hot.check(within: .seconds(2)) }
    }

    private static func database(_ settings: ConversationsSettings, logger: Logger) throws -> Database {
        // The timeout of a statement, long enough for maintenance. Callers have their own deadlines.
        let patience = Duration.seconds(30)
        return Database(
            hot: try settings.postgres.pool(
                "conversations", mode: .grouping, connections: settings.connections, logger: logger),
            exclusive: try settings.postgres.pool(
                "conversations", mode: .exclusive, connections: settings.exclusiveConnections,
                statementTimeout: patience, logger: logger),
            large: try settings.postgres.pool(
                "conversations-large", mode: .exclusive, connections: settings.largeConnections,
                statementTimeout: patience, logger: logger))
    }

    private static func handlers(
        _ settings: ConversationsSettings, _ support: ServiceContext, erasures: Erasures, logger: Logger
    ) -> [any CallHandler] {
        let (database, directory, publisher) = (support.database, support.directory, support.publisher)
        let signIn = SignIn(
            database: database, directory: directory, publisher: publisher, keys: AppKeys(database: database),
            nonceKey: Nonce.Key(clusterSecret: settings.rpc.clusterSecret), sessionLifetime: settings.sessionLifetime,
            logger: logger)
        let sessions = Sessions(database: database, publisher: publisher, lifetime: settings.sessionLifetime)
        let accounts = AccountHandler(
            signIn: signIn, sessions: sessions, directory: directory, serverTokens: ServerTokens(database: database))
        let reports = ReportHandler(
            database: database, retention: Retention(settings.retention, sessionLifetime: settings.sessionLifetime))
        return [accounts, AdminHandler(database: database), reports]
            + handlers(support, receiptWindow: settings.receiptWindow, erasures: erasures)
    }

    /// Returns the handlers of all calls except those about accounts.
    static func handlers(_ support: ServiceContext, receiptWindow: Duration, erasures: Erasures) -> [any CallHandler] {
        let receipts = ReceiptGatherer(
            database: support.database, publisher: support.publisher, window: receiptWindow,
            audienceLimit: support.receiptAudienceLimit,
            recordedApps: support.recordedApps)
        return [
            FollowingHandler(support), BlockHandler(support), ConversationHandler(support), FirstLoadHandler(support),
            MessageHandler(support, receipts: receipts),
            BulkReceiptHandler(support),
            PartHandler(support), SyncHandler(support), AnnouncementHandler(support), ContentHandler(support),
            PushTokenHandler(support),
            IndexHandler(support), UserHandler(support, erasures: erasures),
        ]
    }
}

/// The `conversations` executable.
@main
enum Main {
    static func main() async { await ConversationsService.main() }
}
