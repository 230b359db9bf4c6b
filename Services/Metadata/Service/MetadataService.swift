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

/// The metadata service: the tree of every conversation, in PostgreSQL; every change published on the conversation's channel.
///
/// Stateless: any number of instances may run, and any may be killed at any moment.
public final class MetadataService: Service {
    private let writes: PostgresPool
    private let large: PostgresPool
    private let reads: PostgresPool
    private let redis: RedisClient
    private let epoch: EpochWatch
    private let server: RPCServer
    private let logger: Logger

    /// Wires the service; nothing is connected before ``run()``.
    /// - Throws: if a setting cannot be used.
    public init(settings: MetadataSettings, eventLoopGroup: any EventLoopGroup, logger: Logger) throws {
        func pool(_ mode: PostgresPool.Mode, _ connections: Int, _ name: String) throws -> PostgresPool {
            var configuration = try PostgresConfiguration(url: settings.postgresURL)
            configuration.connections = connections
            configuration.queueLimitStatements = settings.postgresQueue
            configuration.queueLimitBytes = settings.postgresQueueBytes
            configuration.applicationName = "strata-metadata-\(name)"
            return PostgresPool(configuration: configuration, mode: mode, logger: logger)
        }
        writes = try pool(.grouping, settings.writeConnections, "writes")
        large = try pool(.exclusive, settings.largeConnections, "large")
        reads = try pool(.grouping, settings.readConnections, "reads")
        var configuration = try RedisConfiguration(url: settings.redisURL)
        configuration.clientName = "strata-metadata"
        configuration.queueLimit = settings.redisQueue
        configuration.queueLimitBytes = settings.redisQueueBytes
        redis = RedisClient(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
        let epoch = EpochWatch(database: large)
        self.epoch = epoch
        let store = MetadataStore(writes: writes, large: large, reads: reads, limits: settings.limits)
        let router = MetadataService.router(
            patches: PatchHandler(
                store: store, redis: redis, validation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems),
                epoch: { epoch.known }),
            trees: TreesHandler(store: store), logger: logger)
        server = RPCServer(
            configuration: settings.rpc, eventLoopGroup: eventLoopGroup, logger: logger,
            handler: { context, payload in try await router.handle(context, payload) })
        self.logger = logger
    }

    private static func router(patches: PatchHandler, trees: TreesHandler, logger: Logger) -> CallRouter {
        var router = CallRouter(logger: logger)
        router.register(MetadataAPI.trees) { request, context in try await trees.trees(request, deadline: context.deadline) }
        router.register(MetadataAPI.patch) { request, context in try await patches.patch(request, deadline: context.deadline) }
        return router
    }

    /// The port calls are answered at. Waits for ``run()`` to have got there.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Ready means that the database answers. Redis is not asked: without it patches go on, and gateways find them by position.
    public func addChecks(to health: Health) {
        health.add("postgres") { [writes] in
            guard await writes.isReachable(deadline: .now + .seconds(1)) else { throw Failure.unavailable }
        }
    }

    /// Serves until the task is cancelled or shuts down gracefully: then calls in flight are finished first, and connections closed after them.
    public func run() async throws {
        let services: [any Service] = [writes, large, reads, redis, epoch, server]
        try await ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: logger)).run()
    }
}
