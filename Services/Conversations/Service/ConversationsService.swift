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

    private let stacks: Databases<DatabaseStack>
    private let redis: RedisClient
    private let server: RPCServer

    /// Creates the service with its dependencies. It opens no connection before it runs.
    /// - Throws: an error that names the invalid setting.
    public init(settings: ConversationsSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let redis = RedisClient(
            configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let parts = try settings.postgres.databases.map { target in
            (name: target.name, part: try DatabaseStack(target, settings: settings, redis: redis, logger: logger))
        }
        let directory = try AppDirectory.make(settings.postgres, for: Self.name, logger: logger)
        let stacks = Databases(parts, directory: directory)
        (self.stacks, self.redis) = (stacks, redis)
        let reports = ReportHandler(
            Databases(parts.map { (name: $0.name, part: $0.part.database) }, directory: stacks.directory),
            retention: Retention(settings.retention, sessionLifetime: settings.sessionLifetime))
        server = RPCServer(
            DatabaseRouter(
                parts.map { (name: $0.name, router: CallRouter($0.part.handlers, logger: logger)) },
                spanning: CallRouter([SessionHandler(stacks), reports], logger: logger),
                mostCalls: settings.rpc.maxCallsInFlight / 4, known: { stacks.knownIndex(of: $0) },
                locate: { try await stacks.index(of: $0, deadline: $1) }),
            configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
    }

    /// All services to run, in the order of their dependencies.
    public var services: [any Service] {
        var services: [any Service] = [redis]
        for stack in stacks.all { services += stack.part.services }
        if let directory = stacks.directory { services += directory.services }
        return services + [server]
    }

    /// The port of the RPC server. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds the readiness check: a database must answer. Redis is not checked, because writes succeed without it.
    public func addChecks(to health: Health) {
        health.add("postgres") { [stacks] in try await stacks.check(within: .seconds(2)) { $0.database.hot } }
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
