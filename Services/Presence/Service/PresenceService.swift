// SPDX-License-Identifier: Apache-2.0

import Contracts
public import Logging
public import NIOCore
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle

/// The presence service: who is typing and who is online. All state is in Redis and ephemeral; PostgreSQL is never touched.
///
/// Stateless: any number of instances may run, all of them sweep, and any may be killed at any moment.
public final class PresenceService: Service {
    private let redis: RedisClient
    private let server: RPCServer
    private let typingSweep: SweepLoop<TypingStore>
    private let presenceSweep: SweepLoop<PresenceStore>
    private let logger: Logger

    /// Wires the service; nothing is connected before ``run()``.
    /// - Throws: if a setting cannot be used.
    public init(settings: PresenceSettings, eventLoopGroup: any EventLoopGroup, logger: Logger) throws {
        var configuration = try RedisConfiguration(url: settings.redisURL)
        configuration.clientName = "strata-presence"
        configuration.queueLimit = settings.redisQueue
        configuration.queueLimitBytes = settings.redisQueueBytes
        redis = RedisClient(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
        let typing = TypingStore(redis: redis, settings: settings.typing, timeout: settings.redisTimeout)
        let presence = PresenceStore(redis: redis, periods: settings.presence, timeout: settings.redisTimeout)
        typingSweep = SweepLoop(
            typing, every: settings.typing.sweepEvery, shortestPeriod: min(settings.typing.pauseAfter, settings.typing.finishAfter),
            shards: Channels.shards, logger: logger)
        presenceSweep = SweepLoop(
            presence, every: settings.presence.sweepEvery, shortestPeriod: min(settings.presence.lease, settings.presence.grace),
            shards: Channels.shards, logger: logger)
        let handler = PresenceHandler(store: presence, renewAfter: settings.presence.renewAfter)
        let router = PresenceService.router(TypingHandler(store: typing), handler, logger)
        server = RPCServer(
            configuration: settings.rpc, eventLoopGroup: eventLoopGroup, logger: logger,
            handler: { context, payload in try await router.handle(context, payload) })
        self.logger = logger
    }

    private static func router(_ typing: TypingHandler, _ presence: PresenceHandler, _ logger: Logger) -> CallRouter {
        var router = CallRouter(logger: logger)
        router.register(PresenceAPI.typing) { try await typing.typing($0, deadline: $1.deadline) }
        router.register(PresenceAPI.setPresence) { try await presence.set($0, deadline: $1.deadline) }
        router.register(PresenceAPI.renewPresence) { try await presence.renew($0, deadline: $1.deadline) }
        router.register(PresenceAPI.releasePresence) { try await presence.release($0, deadline: $1.deadline) }
        router.register(PresenceAPI.getPresence) { try await presence.get($0, deadline: $1.deadline) }
        return router
    }

    /// The port calls are answered at. Waits for ``run()`` to have got there.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Ready means that Redis answers.
    public func addChecks(to health: Health) {
        health.add("redis") { [redis] in _ = try await redis.command(["PING"], key: nil, deadline: .now + .seconds(1)) }
    }

    /// Serves until the task is cancelled or shuts down gracefully: then calls in flight are finished first, and the connection is closed after them.
    public func run() async throws {
        let services: [any Service] = [redis, typingSweep, presenceSweep, server]
        try await ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: logger)).run()
    }
}
