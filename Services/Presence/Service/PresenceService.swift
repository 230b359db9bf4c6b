// SPDX-License-Identifier: Apache-2.0

import Contracts
import Logging
import NIOCore
import RPC
import Redis
public import ServiceKit
public import ServiceLifecycle

/// The presence service, which tracks typing and online users. All state is ephemeral and in Redis; PostgreSQL is never
/// used.
///
/// Stateless: any number of instances may run, all of them sweep, and any may be killed at any moment.
public final class PresenceService: StrataService {
    /// The executable's name.
    public static let name = "presence"

    private let redis: RedisClient
    private let sweeps: [any Service]
    private let server: RPCServer

    /// Creates the service. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: PresenceSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        redis = RedisClient(
            configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let typing = TypingStore(redis: redis, settings: settings.typing, timeout: settings.redisTimeout)
        let presence = PresenceStore(redis: redis, periods: settings.presence, timeout: settings.redisTimeout)
        sweeps = [
            SweepLoop(
                typing, every: settings.typing.sweepEvery,
                shortestPeriod: min(settings.typing.pauseAfter, settings.typing.finishAfter),
                shards: Channels.shards, logger: logger),
            SweepLoop(
                presence, every: settings.presence.sweepEvery,
                shortestPeriod: min(settings.presence.lease, settings.presence.grace),
                shards: Channels.shards, logger: logger),
        ]
        let handlers: [any CallHandler] = [
            TypingHandler(store: typing), PresenceHandler(store: presence, renewAfter: settings.presence.renewAfter),
        ]
        server = RPCServer(handlers, configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] { [redis] + sweeps + [server] }

    /// The port for calls. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds a readiness check that requires an answer of Redis.
    public func addChecks(to health: Health) {
        health.add("redis") { [redis] in _ = try await redis.command(["PING"], key: nil, deadline: .now + .seconds(1)) }
    }
}

/// The `presence` executable.
@main
enum Main {
    static func main() async { await PresenceService.main() }
}
