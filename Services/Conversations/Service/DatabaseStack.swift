// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Logging
import Postgres
import RPC
import Redis
import ServiceKit
import ServiceLifecycle
import StrataModel

/// Everything of the service that works on one database: its pools, caches and background tasks, and the handlers of
/// calls about its apps.
///
/// A stack has no access to other databases, so no statement can reach the wrong one.
struct DatabaseStack: Sendable {
    let database: Database
    let sessions: Sessions
    let contents: ContentHandler
    /// The handlers of calls that concern one app, or this database.
    let handlers: [any CallHandler]
    private let tasks: [any Service]

    /// - Parameter target: one of the databases of the settings.
    /// - Throws: an error that names the invalid setting.
    init(
        _ target: PostgresSettings.Database, settings: ConversationsSettings, redis: RedisClient, logger: Logger
    ) throws {
        var logger = logger
        let isOneOfSeveral = !settings.postgres.others.isEmpty
        if isOneOfSeveral { logger[metadataKey: "postgres.database"] = "\(target.name)" }
        let database = try Self.database(target, settings: settings, logger: logger)
        let epoch = EpochSource(database: database.exclusive, counter: "strata_conversations_epoch_checks_total")
        let publisher = Publisher(redis: redis, epoch: { epoch.known }, logger: logger)
        let recordedApps = RecordedApps(database: database.hot, logger: logger)
        let directory = IdentityDirectory(database: database)
        let support = ServiceContext(
            database: database, directory: directory, publisher: publisher, epoch: epoch,
            participantsLimit: settings.participantsLimit, partsLimit: settings.partsLimit,
            receiptAudienceLimit: settings.receiptAudienceLimit, metadataLimits: settings.metadataLimits,
            metadataValidation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems),
            quotas: settings.quotas, recordedApps: recordedApps, hasOtherDatabases: isOneOfSeveral)
        let erasures = Erasures(database: database, directory: directory, publisher: publisher, logger: logger)
        self.database = database
        sessions = Sessions(database: database, publisher: publisher, lifetime: settings.sessionLifetime)
        contents = ContentHandler(support)
        handlers =
            [Self.accounts(settings, support, logger: logger), AdminHandler(database: database)]
            + ConversationsService.handlers(support, receiptWindow: settings.receiptWindow, erasures: erasures)
        tasks = [
            epoch, recordedApps,
            Maintenance(
                database: database, retention: settings.retention, interval: settings.maintenanceInterval,
                logger: logger),
            IndexBuilder(database: database, signal: support.signals.indexes, logger: logger),
            DelayedMessages(support, logger: logger), erasures,
        ]
    }

    /// The services to run, in the order of their dependencies.
    var services: [any Service] { [database.hot, database.exclusive, database.large] + tasks }

    private static func accounts(
        _ settings: ConversationsSettings, _ support: ServiceContext, logger: Logger
    ) -> AccountHandler {
        let database = support.database
        let signIn = SignIn(
            database: database, directory: support.directory, publisher: support.publisher,
            keys: AppKeys(database: database), nonceKey: Nonce.Key(clusterSecret: settings.rpc.clusterSecret),
            sessionLifetime: settings.sessionLifetime, logger: logger)
        return AccountHandler(
            signIn: signIn, directory: support.directory, serverTokens: ServerTokens(database: database))
    }

    private static func database(
        _ target: PostgresSettings.Database, settings: ConversationsSettings, logger: Logger
    ) throws -> Database {
        // The timeout of a statement, long enough for maintenance. Callers have their own deadlines.
        let patience = Duration.seconds(30)
        let postgres = settings.postgres
        return Database(
            hot: try postgres.pool(
                "conversations", in: target, mode: .grouping, connections: settings.connections, logger: logger),
            exclusive: try postgres.pool(
                "conversations", in: target, mode: .exclusive, connections: settings.exclusiveConnections,
                statementTimeout: patience, logger: logger),
            large: try postgres.pool(
                "conversations-large", in: target, mode: .exclusive, connections: settings.largeConnections,
                statementTimeout: patience, logger: logger))
    }
}
