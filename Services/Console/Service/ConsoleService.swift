// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Postgres
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle

/// The console: pages for the operators of a deployment, with their sign-in and an audit log.
///
/// The console shows what the Server API, the reports of the conversations service and the admin ports of all processes
/// say, and changes apps through the same APIs. It is never reachable through the gateways. Any number of instances may
/// run.
public final class ConsoleService: StrataService {
    /// The executable's name.
    public static let name = "console"

    private let pool: PostgresPool
    private let accounts: Accounts
    private let clients: [RPCClient]
    private let subscriber: RedisSubscriber
    private let http: InternalClient
    private let sweeper: AccountSweeper
    private let server: any Service

    /// Creates the console. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: ConsoleSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        pool = try settings.postgres.pool(
            Self.name, mode: .exclusive, connections: settings.connections, statementTimeout: .seconds(5),
            logger: logger)
        accounts = Accounts(pool: pool)
        sweeper = AccountSweeper(pool: pool, logger: logger)
        let conversations = RPCClient(
            configuration: settings.backends.conversations, eventLoopGroup: loops, logger: logger)
        let presence = RPCClient(configuration: settings.backends.presence, eventLoopGroup: loops, logger: logger)
        let webhooks = settings.backends.webhooks.map {
            RPCClient(configuration: $0, eventLoopGroup: loops, logger: logger)
        }
        clients = [conversations, presence] + (webhooks.map { [$0] } ?? [])
        let live = LiveChannels.make(
            try settings.redis.configuration(for: Self.name), group: loops, logger: logger)
        subscriber = live.subscriber
        http = InternalClient(group: loops)
        let routes = ConsoleRoutes(
            accounts: accounts, audit: AuditLog(pool: pool, logger: logger), trustedProxies: settings.trustedProxies,
            logger: logger)
        let backends = Backends(
            conversations: conversations, presence: presence, webhooks: webhooks, channels: live.channels, http: http)
        for feature in Self.features(settings, accounts: accounts, audit: routes.audit, backends) {
            feature.add(to: routes)
        }
        server = Self.server(settings, routes, loops: loops, logger: logger)
    }

    /// The clients of other processes.
    private struct Backends {
        let conversations: RPCClient
        let presence: RPCClient
        let webhooks: RPCClient?
        let channels: LiveChannels
        let http: InternalClient
    }

    private static func features(
        _ settings: ConsoleSettings, accounts: Accounts, audit: AuditLog, _ backends: Backends
    ) -> [any ConsoleFeature] {
        let reports = Reports(conversations: backends.conversations)
        let streams = EventStreams(accounts: accounts)
        let monitor = OverviewMonitor(
            reader: InstanceReader(client: backends.http, instances: settings.instances),
            alerts: settings.prometheusURL.map { PrometheusAlerts(client: backends.http, url: $0) }, reports: reports)
        let trace = TraceRelay(
            client: backends.http, gateways: settings.instances.filter { $0.kind == "gateway" },
            secret: settings.clusterSecret)
        return [
            PageRoutes(), SessionRoutes(accounts: accounts, audit: audit, isSecure: !settings.allowsHTTP),
            OverviewRoutes(monitor: monitor), ReportRoutes(reports: reports),
            AppRoutes(conversations: backends.conversations), WebhookRoutes(webhooks: backends.webhooks),
            ServerAPIRoutes(
                client: backends.http, tokens: ServerTokens(conversations: backends.conversations),
                gatewayURL: settings.gatewayURL),
            LiveRoutes(
                channels: backends.channels, streams: streams, reports: reports, presence: backends.presence),
            TraceRoutes(relay: trace, streams: streams),
            TryRoutes(
                client: backends.http, gatewayURL: settings.gatewayURL,
                sockets: SocketTrial(gatewayURL: settings.gatewayURL)),
        ]
    }

    private static func server(
        _ settings: ConsoleSettings, _ routes: ConsoleRoutes, loops: any EventLoopGroup, logger: Logger
    ) -> any Service {
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        return HTTPService(
            responder: routes.router.buildResponder(),
            server: .http1(configuration: .init(idleTimeout: .seconds(60))),
            configuration: ServerConfiguration(address: .hostname(settings.host, port: settings.port)),
            onListening: { channel in
                await ListenerGuard.add("console", to: channel, logger: logger)
                logger.info(
                    "console listening", metadata: ["console.port": "\(channel.localAddress?.port ?? 0)"])
            },
            eventLoopGroup: loops, logger: quiet)
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] {
        [pool, accounts.service] + clients + [subscriber, http, sweeper, server]
    }

    /// Adds readiness checks for the database, which holds the sessions, and for the conversations service.
    public func addChecks(to health: Health) {
        health.add("postgres") { [pool] in try await pool.check(within: .seconds(1)) }
        if let conversations = clients.first {
            health.add("conversations") { guard conversations.isAvailable else { throw RPCError.unavailable } }
        }
    }
}

/// The `console` executable.
@main
enum Main {
    static func main() async { await ConsoleService.main() }
}
