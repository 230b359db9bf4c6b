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

    private let store: HookStore
    private let log: DeliveryLog
    private let engine: DeliveryEngine
    private let verifier: Verifier
    private let backlog: BacklogWatch
    private let server: RPCServer

    /// Creates the service. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: WebhooksSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let store = HookStore(
            pool: try settings.postgres.pool(
                Self.name, mode: .exclusive, connections: settings.connections, statementTimeout: .seconds(30),
                logger: logger), logger: logger)
        let sender = HTTPSender(
            policy: AddressPolicy(allowed: settings.allowedAddresses), timeout: settings.timeout,
            connectionsPerHost: settings.perHost,
            trustedRoots: settings.trustedRoots, group: loops)
        let log = DeliveryLog(store: store, logger: logger)
        let secrets = HookSecrets(serviceSecret: settings.rpc.clusterSecret)
        let verifier = Verifier(store: store, sender: sender, settings: settings, logger: logger)
        (self.store, self.log, self.verifier) = (store, log, verifier)
        engine = DeliveryEngine(
            store: store, sender: sender, log: log, secrets: secrets, settings: settings, logger: logger)
        backlog = BacklogWatch(store: store)
        let handler = WebhookHandler(
            store: store, verifier: verifier,
            tester: WebhookTester(sender: sender, secrets: secrets, settings: settings), secrets: secrets,
            settings: settings)
        server = RPCServer([handler], configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] { [store.pool, log, engine, verifier, backlog, server] }

    /// The port for calls. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds a readiness check that requires an answer of the database.
    public func addChecks(to health: Health) {
        health.add("postgres") { [store] in try await store.pool.check(within: .seconds(1)) }
    }
}

/// A service that publishes the backlog as metrics.
private struct BacklogWatch: Service {
    let store: HookStore
    private let lanes = Gauge(label: "strata_webhooks_waiting_conversations")
    private let failing = Gauge(label: "strata_webhooks_failing_conversations")
    private let oldest = Gauge(label: "strata_webhooks_oldest_waiting_seconds")

    init(store: HookStore) { self.store = store }

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
