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

/// The metadata service. It changes the metadata trees of conversations in PostgreSQL and publishes every change on the
/// conversation's channel. Trees are read by the conversations service, together with their conversations.
///
/// Stateless: any number of instances may run, and any may be killed at any moment.
public final class MetadataService: StrataService {
    /// The executable's name.
    public static let name = "metadata"

    private let stacks: Databases<MetadataStack>
    private let redis: RedisClient
    private let server: RPCServer

    /// Creates the service. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: MetadataSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let redis = RedisClient(
            configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let parts = try settings.postgres.databases.map { target in
            (name: target.name, part: try MetadataStack(target, settings: settings, redis: redis, logger: logger))
        }
        let directory = try AppDirectory.make(settings.postgres, for: Self.name, logger: logger)
        let stacks = Databases(parts, directory: directory)
        server = RPCServer(
            DatabaseRouter(
                parts.map { (name: $0.name, router: CallRouter([$0.part.handler], logger: logger)) }, spanning: nil,
                mostCalls: settings.rpc.maxCallsInFlight / 4, known: { stacks.knownIndex(of: $0) },
                locate: { try await stacks.index(of: $0, deadline: $1) }),
            configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
        (self.stacks, self.redis) = (stacks, redis)
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] {
        var services: [any Service] = [redis]
        for stack in stacks.all { services += stack.part.services }
        if let directory = stacks.directory { services += directory.services }
        return services + [server]
    }

    /// The port for calls. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds a readiness check that requires an answer of a database. Redis is not checked: without it, patches still
    /// succeed, and gateways find them by position.
    public func addChecks(to health: Health) {
        health.add("postgres") { [stacks] in try await stacks.check(within: .seconds(1)) { $0.store.shared } }
    }
}

/// Everything of the service that works on one database.
private struct MetadataStack: Sendable {
    let store: MetadataStore
    let handler: PatchHandler
    private let tasks: [any Service]

    /// - Parameter target: one of the databases of the settings.
    init(
        _ target: PostgresSettings.Database, settings: MetadataSettings, redis: RedisClient, logger: Logger
    ) throws {
        let shared = try settings.postgres.pool(
            "metadata-writes", in: target, mode: .grouping, connections: settings.writeConnections, logger: logger)
        let recordedApps = RecordedApps(database: shared, logger: logger)
        store = MetadataStore(
            shared: shared,
            exclusive: try settings.postgres.pool(
                "metadata-large", in: target, mode: .exclusive, connections: settings.largeConnections, logger: logger),
            limits: settings.limits, recordedApps: recordedApps)
        let epoch = EpochSource(database: store.exclusive, counter: "strata_metadata_epoch_checks_total")
        handler = PatchHandler(
            store: store, redis: redis, validation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems),
            epoch: { epoch.known })
        tasks = [epoch, recordedApps]
    }

    var services: [any Service] { [store.shared, store.exclusive] + tasks }
}

/// The `metadata` executable.
@main
enum Main {
    static func main() async { await MetadataService.main() }
}
