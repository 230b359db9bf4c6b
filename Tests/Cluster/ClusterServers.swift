// SPDX-License-Identifier: Apache-2.0

import Foundation
package import LocalServers
import Logging
import Postgres
import Schema
import TestSupport

/// The PostgreSQL and Redis servers of a ``Cluster``.
package struct ClusterServers: Sendable {
    /// One server for all databases, or one for each.
    package let postgres: [PrivatePostgres]
    /// A single server, or the masters of a Redis Cluster.
    package let redis: [PrivateRedis]
    package let databases: ClusterDatabases
    /// The Redis URL for services.
    let redisURL: String

    static func start(_ size: Cluster.Size, _ surroundings: Surroundings) async throws -> ClusterServers {
        async let startingRedis = startRedis(size, surroundings)
        let migrated = size.migrations == nil ? try await Migrated.shared.value : nil
        let postgres = try await startPostgres(size, surroundings, data: migrated?.data)
        let redis = try await startingRedis
        let database =
            if let migrated { postgres[0].url(database: migrated.database) } else {
                try await TestServers.freshDatabase(on: postgres[0])
            }
        if let migrations = size.migrations {
            _ = try await Migrator(configuration: PostgresConfiguration(url: database))
                .migrate(migrations, functions: Schema.functions, logger: Logger(label: "test"))
        }
        let hosts = size.machines == nil ? [surroundings.home] : redis.map(\.host)
        let addresses = zip(hosts, redis).map { "\($0):\($1.port)" }
        return ClusterServers(
            postgres: postgres, redis: redis,
            databases: try await ClusterDatabases.make(size.databases, first: database, on: postgres),
            redisURL: "redis://" + addresses.joined(separator: ","))
    }

    private static func startPostgres(
        _ size: Cluster.Size, _ surroundings: Surroundings, data: String?
    ) async throws -> [PrivatePostgres] {
        guard size.machines != nil else {
            // Each database has connections of its own.
            let connections = size.databases > 1 ? ["max_connections": "\(200 * size.databases)"] : [:]
            return [
                try await surroundings.startPostgres(
                    connections.merging(size.postgresSettings) { $1 }, data: data, isDurable: size.isDurable)
            ]
        }
        var servers: [PrivatePostgres] = []
        while servers.count < size.databases {
            let host = try await surroundings.network?.host()
            servers.append(
                try await surroundings.startPostgres(
                    size.postgresSettings, data: servers.isEmpty ? data : nil, on: host, isDurable: size.isDurable))
        }
        return servers
    }

    private static func startRedis(
        _ size: Cluster.Size, _ surroundings: Surroundings
    ) async throws -> [PrivateRedis] {
        guard let machines = size.machines else {
            return [try await TestServers.privateRedis(arguments: surroundings.redisArguments)]
        }
        var hosts: [VirtualNetwork.Host] = []
        for _ in 0..<machines.redis { if let host = try await surroundings.network?.host() { hosts.append(host) } }
        guard machines.redis == 1 else { return try await RedisCluster.start(on: hosts).masters }
        return [
            try await TestServers.privateRedis(
                arguments: ["--protected-mode", "no"], on: hosts.first?.server ?? .loopback)
        ]
    }

    func stop() async {
        for server in redis { await server.stop() }
        for server in postgres { await server.discard() }
    }
}

/// The result of `strata migrate` on an empty server. It is created once per process, and each cluster starts with a
/// copy.
private struct Migrated: Sendable {
    /// The data directory of the server, which is stopped.
    let data: String
    let database: String

    static let shared = Task {
        let server = try await TestServers.privatePostgres()
        let url = try await TestServers.freshDatabase(on: server)
        let migration = try await ChildProcess.run(
            Launch(try Executables.find("strata"), arguments: ["migrate", "--database", url]))
        guard migration.isSuccess else {
            throw LocalServerError(.commandFailed, "strata migrate failed: \(migration.output)")
        }
        await server.stop()
        let home = (server.log as NSString).deletingLastPathComponent
        return Migrated(data: home + "/data", database: String(url.split(separator: "/").last ?? ""))
    }
}
