// SPDX-License-Identifier: Apache-2.0

import Contracts
import Logging
import NIOCore
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle

/// The presence service: who is typing and who is online. All state is in Redis and ephemeral; PostgreSQL is never touched.
///
/// Stateless: any number of instances may run, all of them sweep, and any may be killed at any moment.
public final class PresenceService: StrataService {
    /// The executable's name.
    public static let name = "presence"

    private let redis: RedisClient
    private let sweeps: [any Service]
    private let server: RPCServer

    /// Puts the service together; nothing is connected before it runs.
    /// - Throws: if a setting cannot be used.
    public init(settings: PresenceSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        redis = RedisClient(configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let typing = TypingStore(redis: redis, settings: settings.typing, timeout: settings.redisTimeout)
        let presence = PresenceStore(redis: redis, periods: settings.presence, timeout: settings.redisTimeout)
        sweeps = [
            SweepLoop(
                typing, every: settings.typing.sweepEvery, shortestPeriod: min(settings.typing.pauseAfter, settings.typing.finishAfter),
                shards: Channels.shards, logger: logger),
            SweepLoop(
                presence, every: settings.presence.sweepEvery, shortestPeriod: min(settings.presence.lease, settings.presence.grace),
                shards: Channels.shards, logger: logger),
        ]
        let handlers: [any CallHandler] = [
            TypingHandler(store: typing), PresenceHandler(store: presence, renewAfter: settings.presence.renewAfter),
        ]
        server = RPCServer(handlers, configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
    }

    /// Everything that has to run, in the order of dependency.
    public var services: [any Service] { [redis] + sweeps + [server] }

    /// The port at which calls are answered. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Ready means that Redis answers.
    public func addChecks(to health: Health) {
        health.add("redis") { [redis] in _ = try await redis.command(["PING"], key: nil, deadline: .now + .seconds(1)) }
    }
}
