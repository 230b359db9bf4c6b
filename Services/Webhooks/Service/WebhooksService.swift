// SPDX-License-Identifier: Apache-2.0

import Contracts
import DatabaseKit
import Logging
import Metrics
import NIOCore
import Postgres
import RPC
public import ServiceKit
public import ServiceLifecycle
import StrataModel

/// The webhooks service. It administers the webhooks of apps and delivers events to the apps' own servers over HTTP.
///
/// Stateless: any number of instances may run, and any may be killed at any moment. It is the only service that calls
/// hosts chosen by others.
public final class WebhooksService: StrataService {
    /// The executable's name.
    public static let name = "webhooks"
    /// The environment variable of the service's secret. The service calls hosts chosen by others, so it does not hold
    /// the cluster secret.
    public static let secretKey = "STRATA_WEBHOOKS_SECRET"

    private let stacks: Databases<WebhooksStack>
    private let server: RPCServer

    /// Creates the service. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: WebhooksSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let parts = try settings.postgres.databases.map { target in
            (name: target.name, part: try WebhooksStack(target, settings: settings, group: loops, logger: logger))
        }
        let directory = try AppDirectory.make(settings.postgres, for: Self.name, logger: logger)
        let stacks = Databases(parts, directory: directory)
        server = RPCServer(
            DatabaseRouter(
                parts.map { (name: $0.name, router: CallRouter([$0.part.handler], logger: logger)) }, spanning: nil,
                mostCalls: settings.rpc.maxCallsInFlight / 4, known: { stacks.knownIndex(of: $0) },
                locate: { try await stacks.index(of: $0, deadline: $1) }),
            configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
        self.stacks = stacks
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] {
        var services = stacks.all.flatMap { $0.part.services }
        if let directory = stacks.directory { services += directory.services }
        return services + [server]
    }

    /// The port for calls. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds a readiness check that requires an answer of a database.
    public func addChecks(to health: Health) {
        health.add("postgres") { [stacks] in try await stacks.check(within: .seconds(1)) { $0.store.pool } }
    }
}

/// Everything of the service that works on one database. The limits of the process are divided among the databases, so
/// that receivers of one database's apps do not delay those of another one.
private struct WebhooksStack: Sendable {
    let store: HookStore
    let handler: WebhookHandler
    private let tasks: [any Service]

    /// - Parameter target: one of the databases of the settings.
    init(
        _ target: PostgresSettings.Database, settings: WebhooksSettings, group: any EventLoopGroup, logger: Logger
    ) throws {
        let (settings, logger) = Self.own(settings, logger, for: target)
        store = HookStore(
            pool: try settings.postgres.pool(
                WebhooksService.name, in: target, mode: .exclusive, connections: settings.connections,
                statementTimeout: .seconds(30), logger: logger), logger: logger)
        let sender = HTTPSender(
            policy: AddressPolicy(allowed: settings.allowedAddresses), timeout: settings.timeout,
            connectionsPerHost: settings.perHost,
            trustedRoots: settings.trustedRoots, group: group)
        let log = DeliveryLog(store: store, logger: logger)
        let secrets = HookSecrets(serviceSecret: settings.rpc.clusterSecret)
        let verifier = Verifier(store: store, sender: sender, settings: settings, logger: logger)
        let engine = DeliveryEngine(
            store: store, sender: sender, log: log, secrets: secrets, settings: settings, logger: logger)
        handler = WebhookHandler(
            store: store, verifier: verifier,
            tester: WebhookTester(sender: sender, secrets: secrets, settings: settings), secrets: secrets,
            settings: settings)
        tasks = [log, engine, verifier, BacklogWatch(store: store, dimensions: settings.dimensions)]
    }

    var services: [any Service] { [store.pool] + tasks }

    /// Returns the settings and the logger for one of the databases.
    private static func own(
        _ settings: WebhooksSettings, _ logger: Logger, for target: PostgresSettings.Database
    ) -> (WebhooksSettings, Logger) {
        let count = settings.postgres.databases.count
        guard count > 1 else { return (settings, logger) }
        var (settings, logger) = (settings, logger)
        settings.inFlight = max(1, settings.inFlight / count)
        settings.perHost = max(1, settings.perHost / count)
        settings.bytes /= count
        settings.dimensions = [("database", target.name.description)]
        logger[metadataKey: "postgres.database"] = "\(target.name)"
        return (settings, logger)
    }
}

/// A service that publishes the backlog as metrics.
private struct BacklogWatch: Service {
    let store: HookStore
    private let lanes: Gauge
    private let failing: Gauge
    private let oldest: Gauge

    init(store: HookStore, dimensions: [(String, String)]) {
        self.store = store
        lanes = Gauge(label: "strata_webhooks_waiting_conversations", dimensions: dimensions)
        failing = Gauge(label: "strata_webhooks_failing_conversations", dimensions: dimensions)
        oldest = Gauge(label: "strata_webhooks_oldest_waiting_seconds", dimensions: dimensions)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Duration.seconds(10) * Double.random(in: 0.8...1.2))) != nil {
                guard let rows = try? await store.pool.query(ReadBacklog(), deadline: .now + .seconds(5)),
                    let row = rows.first
                else { continue }
                lanes.record(row.lanes)
                failing.record(row.failing)
                oldest.record(row.oldestSeconds)
            }
        }
    }
}

/// The `webhooks` executable.
@main
enum Main {
    static func main() async { await WebhooksService.main() }
}
