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

    private let store: MetadataStore
    private let redis: RedisClient
    private let epoch: EpochSource
    private let recordedApps: RecordedApps
    private let server: RPCServer

    /// Creates the service. Connections are opened when it runs.
    /// - Throws: an error if a setting is invalid.
    public init(settings: MetadataSettings, environment: ServiceEnvironment) throws {
        let (loops, logger) = (environment.eventLoopGroup, environment.logger)
        let shared = try settings.postgres.pool(
            "metadata-writes", mode: .grouping, connections: settings.writeConnections, logger: logger)
        let recordedApps = RecordedApps(database: shared, logger: logger)
        let store = MetadataStore(
            shared: shared,
            exclusive: try settings.postgres.pool(
                "metadata-large", mode: .exclusive, connections: settings.largeConnections, logger: logger),
            limits: settings.limits, recordedApps: recordedApps)
        let redis = RedisClient(
            configuration: try settings.redis.configuration(for: Self.name), eventLoopGroup: loops, logger: logger)
        let epoch = EpochSource(database: store.exclusive, counter: "strata_metadata_epoch_checks_total")
        let handlers: [any CallHandler] = [
            PatchHandler(
                store: store, redis: redis,
                validation: MetadataPatchValidation(maximumItems: settings.maximumPatchItems),
                epoch: { epoch.known })
        ]
        server = RPCServer(handlers, configuration: settings.rpc, eventLoopGroup: loops, logger: logger)
        (self.store, self.redis, self.epoch, self.recordedApps) = (store, redis, epoch, recordedApps)
    }

    /// The components to run, in the order of dependency.
    public var services: [any Service] { [store.shared, store.exclusive, redis, epoch, recordedApps, server] }

    /// The port for calls. Waits until the server listens.
    public var rpcPort: Int { get async throws { try await server.boundPort } }

    /// Adds a readiness check that requires an answer of the database. Redis is not checked: without it, patches still
    /// succeed, and gateways find them by position.
    public func addChecks(to health: Health) {
        health.add("postgres") { [store] in try await store.shared.check(within: .seconds(1)) }
    }
}

/// The `metadata` executable.
@main
enum Main {
    static func main() async { await MetadataService.main() }
}
