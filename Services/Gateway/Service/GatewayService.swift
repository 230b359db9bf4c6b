// SPDX-License-Identifier: Apache-2.0
import FanOut
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle
import StrataModel
import StrataWire

/// The gateway service: sessions, REST and WebSocket for clients, and the fan-out of publications.
///
/// A gateway has no state that another gateway needs. Any gateway can serve any returning client.
public final class GatewayService: StrataService {
    /// The name of the executable.
    public static let name = "gateway"

    private let calls: GatewayServices
    private let feeds: [DatabaseFeed]
    private let traces: TraceRegistry
    private let traceRoute: TraceRoute
    private let servers: [any Service]
    private let upkeep: [any Service]
    /// The methods and paths served to clients.
    package let routes: [ServedRoute]
    /// The methods and paths served to apps' own servers.
    package let serverRoutes: [ServedRoute]

    /// Makes a gateway from its settings. No connections are opened yet.
    /// - Throws: an error that names the setting at fault.
    public init(settings: GatewaySettings, environment: ServiceEnvironment) throws {
        let (eventLoopGroup, logger) = (environment.eventLoopGroup, environment.logger)
        let store = try Self.contentStore(settings: settings.content, group: eventLoopGroup, logger: logger)
        let calls = GatewayServices(
            conversations: RPCClient(
                configuration: settings.backends.conversations, eventLoopGroup: eventLoopGroup, logger: logger),
            metadata: RPCClient(
                configuration: settings.backends.metadata, eventLoopGroup: eventLoopGroup, logger: logger),
            presence: RPCClient(
                configuration: settings.backends.presence, eventLoopGroup: eventLoopGroup, logger: logger),
            webhooks: settings.backends.webhooks.map {
                RPCClient(configuration: $0, eventLoopGroup: eventLoopGroup, logger: logger)
            },
            settings: settings, contentStore: store, logger: logger)
        let redis = try settings.redis.configuration(for: Self.name)
        let feeds = settings.databases.map { name in
            DatabaseFeed(name, services: calls, redis: redis, group: eventLoopGroup, logger: logger)
        }
        traces = TraceRegistry(loops: feeds.flatMap { $0.loops })
        traceRoute = TraceRoute(traces: traces, clusterSecret: settings.clusterSecret)
        self.calls = calls
        if let store {
            let connections = (store as? any Service).map { [$0] } ?? []
            upkeep =
                connections + [
                    ContentSweeper(
                        services: calls, store: store, age: settings.content.unreferencedAge, logger: logger),
                    ContentRoomWatch(store: store, logger: logger),
                ]
        } else {
            upkeep = []
        }
        self.feeds = feeds
        let rest = RESTRouter(services: calls, nonceKey: Nonce.Key(clusterSecret: settings.clusterSecret))
        let served = rest.routes()
        (routes, serverRoutes) = (served.served, served.servedToServers)
        servers = try Self.servers(
            settings, rest: rest, calls: calls, feeds: feeds, group: eventLoopGroup, logger: logger)
    }

    private static func contentStore(
        settings: GatewaySettings.Content, group: any EventLoopGroup, logger: Logger
    ) throws -> (any ContentStore)? {
        if let store = settings.store {
            return S3ContentStore(S3Client(store, group: group, logger: logger), redirects: store.redirects)
        }
        guard let directory = settings.directory else {
            logger.notice("rich content disabled: neither STRATA_CONTENT_URL nor STRATA_CONTENT_DIRECTORY is set")
            return nil
        }
        do {
            return try FileContentStore(directory: directory)
        } catch {
            logger.error("content directory cannot be used", metadata: ["error.message": "\(error)"])
            throw SettingsError(
                key: "STRATA_CONTENT_DIRECTORY", problem: .invalid,
                expected: "a directory that the gateway can write to")
        }
    }

    private static func servers(
        _ settings: GatewaySettings, rest: RESTRouter, calls: GatewayServices, feeds: [DatabaseFeed],
        group: any EventLoopGroup, logger: Logger
    ) throws -> [any Service] {
        let limits = ConnectionLimits(arrival: ArrivalTime(timeout: TimeAmount(settings.load.requestTimeout)))
        let upgrade = SocketUpgrade(
            services: calls, loops: Dictionary(uniqueKeysWithValues: feeds.map { ($0.name, $0.loops) }), limits: limits)
        let responder = rest.responder()
        let refusals = RefusedRequest(calls.renderer)
        let busy = RefusedConnection.answer(refusals.busy)
        let plain = HTTPServerBuilder { responder in
            UpgradeChannel(
                responder: responder, upgrade: upgrade, limits: limits, clients: calls.clients, answers: calls.answers,
                input: calls.input,
                patience: ResponseGuard.Patience(limit: TimeAmount(settings.load.stallTimeout)),
                countsAddresses: settings.load.rates.trustedProxies == 0, refusal: busy, refusals: refusals)
        }
        func server(with builder: HTTPServerBuilder, port: Int) -> any Service {
            HTTPService(
                responder: responder, server: builder,
                configuration: ServerConfiguration(
                    address: .hostname(settings.listeners.host, port: port), backlog: 4096),
                onListening: { channel in
                    await ListenerGuard.add("clients", to: channel, logger: logger)
                },
                eventLoopGroup: group, logger: logger)
        }
        var servers = [server(with: plain, port: settings.listeners.httpPort)]
        if let port = settings.listeners.httpsPort, let tls = settings.listeners.tls {
            servers.append(server(with: try .tls(plain, tlsConfiguration: tls), port: port))
        }
        return servers
    }

    /// The services to run, in order of dependency.
    public var services: [any Service] {
        var services: [any Service] = [calls.conversations, calls.metadata, calls.presence]
        if let webhooks = calls.webhooks { services.append(webhooks) }
        for feed in feeds { services += [feed.subscriber, FeedService(feed: feed, traces: traces)] }
        return services + upkeep + [ConnectionDrain(clients: calls.clients)] + servers
    }

    /// Adds readiness checks for conversations and metadata.
    ///
    /// Presence, webhooks, the content store, and Redis are not checked. Messages work without the first three, and
    /// without Redis the gateway finds changes by polling. Their failure must not take every gateway out of service.
    public func addChecks(to health: Health) {
        let clients = [("conversations", calls.conversations), ("metadata", calls.metadata)]
        for (name, client) in clients {
            health.add(name) { guard client.isAvailable else { throw RPCError.unavailable } }
        }
    }

    /// Adds the route for traces of users' packets.
    public func addRoutes(to admin: AdminRoutes) {
        admin.get("trace") { [traceRoute] request in traceRoute.respond(to: request) }
    }
}

/// The fan-out of one database, and the sockets of its apps. Another database's outage or new epoch does not affect it.
private struct DatabaseFeed: Sendable {
    let name: DatabaseName
    let fanOut: FanOut
    let subscriber: RedisSubscriber
    let loops: [SocketLoop]

    init(
        _ name: DatabaseName, services: GatewayServices, redis: RedisConfiguration, group: any EventLoopGroup,
        logger: Logger
    ) {
        var logger = logger
        if services.settings.databases.count > 1 { logger[metadataKey: "postgres.database"] = "\(name)" }
        // The subscriber delivers on the fan-out's loop. A publication therefore changes threads only on its way to
        // registries that need it.
        let loop = group.next()
        let fanOut = FanOut(
            loop: loop, source: DatabaseChanges(services: services, database: name),
            timing: FanOutTiming(services.settings), logger: logger)
        self.name = name
        self.fanOut = fanOut
        subscriber = RedisSubscriber(configuration: redis, eventLoopGroup: loop, delegate: fanOut, logger: logger)
        // Connections are distributed over all loops, so every loop has a registry.
        loops = group.makeIterator().enumerated()
            .map { index, loop in
                SocketLoop(index: index, loop: loop, fanOut: fanOut, services: services)
            }
    }
}

/// Starts the fan-out of a database and the upkeep of its registries. On shutdown it closes the sockets, so that
/// clients connect elsewhere.
private struct FeedService: Service {
    let feed: DatabaseFeed
    let traces: TraceRegistry

    func run() async throws {
        let loops = feed.loops
        try await feed.fanOut.start(registries: loops.map(\.registry), subscriptions: feed.subscriber).get()
        for loop in loops { loop.enqueue { $0.startUpkeep() } }
        try? await gracefulShutdown()
        for loop in loops {
            loop.registry.drain()
            loop.stopUpkeep()
        }
        traces.stop()
        feed.fanOut.stop()
    }
}

/// Waits at shutdown until all client connections are closed. It stops after the servers, which ask sockets to close
/// without waiting for them.
struct ConnectionDrain: Service {
    let clients: ClientConnections

    func run() async throws {
        try? await gracefulShutdown()
        await clients.waitUntilClosed()
    }
}

/// The `gateway` executable.
@main
enum Main {
    static func main() async { await GatewayService.main() }
}
