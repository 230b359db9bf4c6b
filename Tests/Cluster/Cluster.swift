// SPDX-License-Identifier: Apache-2.0

import Foundation
package import LocalServers
package import Postgres
package import ProtocolClient
import StrataCommand
import TestSupport

/// A whole system for tests: its own PostgreSQL and Redis, and processes of each service. It ends with the test process
/// or with ``stop()``.
package final class Cluster: TestSystem {
    package struct Size: Sendable {
        package var gateways: Int
        package var conversations: Int
        package var metadata: Int
        package var presence: Int
        package var webhooks: Int
        /// Additional settings of all services.
        package var settings: [String: String]
        /// The limit of open files for each kind of process, up to the system's hard limit.
        package var openFiles: [ServiceProcess.Kind: Int]
        /// Additional facilities for faults. Each requires that there is no ``Facility/obstacle``.
        package var facilities: Set<Facility> = []
        /// The interval of lost publications: every nth publication of a change is lost. nil: none is lost.
        package var lostPublications: Int?
        /// Additional PostgreSQL settings.
        package var postgresSettings: [String: String] = [:]
        /// The migrations of the database. nil: those of `strata migrate`.
        package var migrations: [Migration]?
        /// The number of databases, all on one server without ``machines``. Apps of tests live in the last one.
        package var databases = Cluster.defaultDatabases
        /// True if PostgreSQL flushes commits to disk.
        package var isDurable = false
        /// The servers' own hosts; nil: PostgreSQL and Redis run on this process's host. Requires ``Facility/network``.
        package var machines: Machines?

        /// A host for the PostgreSQL server of each database, and for each master of a Redis Cluster.
        package struct Machines: Sendable {
            /// The masters of a Redis Cluster; 1: a single Redis.
            package var redis: Int
            /// The delay of every packet in milliseconds.
            package var latency: Double

            package init(redis: Int, latency: Double = 1) { (self.redis, self.latency) = (redis, latency) }
        }

        package init(
            gateways: Int = 1, conversations: Int = 1, metadata: Int = 1, presence: Int = 1, webhooks: Int = 1,
            settings: [String: String] = [:],
            openFiles: [ServiceProcess.Kind: Int] = [:]
        ) {
            self.gateways = gateways
            self.conversations = conversations
            self.metadata = metadata
            self.presence = presence
            self.webhooks = webhooks
            self.settings = settings
            self.openFiles = openFiles
        }
    }

    /// The typing timeouts of the shared cluster: from `started` to `paused`, and from `paused` to `finished`.
    package static let typingPeriod = Duration.seconds(1)

    /// The cluster secret of all test clusters.
    package static let secret = "a secret of these tests, and of nobody else"

    /// The secret that gateways and webhooks share.
    package static let webhooksSecret = "another secret of these tests, for webhooks"

    /// The services' database password. The test database does not check it.
    package static let databasePassword = "password-of-these-tests"

    /// The number of databases of clusters: `STRATA_TEST_DATABASES`, by default 1.
    package static let defaultDatabases =
        ProcessInfo.processInfo.environment["STRATA_TEST_DATABASES"].flatMap { Int($0) }.map { min(max($0, 1), 8) } ?? 1

    /// Settings for tests that perform an ephemeral operation only once. The operation must not be lost on a busy
    /// machine.
    package static let patient = ["STRATA_PRESENCE_REDIS_TIMEOUT": "10s"]

    /// Returns the shared cluster, with two instances of each service except webhooks, for tests that break nothing.
    package static func shared() async throws -> Cluster { try await starting.value }

    private static let starting = Task {
        try await Cluster.start(
            Size(
                gateways: 2, conversations: 2, metadata: 2, presence: 2,
                settings: ["STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s", "STRATA_PRESENCE_GRACE": "1s"]
                    .merging(patient) { $1 }))
    }

    package let servers: ClusterServers
    /// The PostgreSQL server of the first database.
    package var postgres: PrivatePostgres { servers.postgres[0] }
    /// The first Redis.
    package var redis: PrivateRedis { servers.redis[0] }
    /// The URL of the database of tests' apps, the last one.
    package var databaseURL: String { databases.last }
    /// All databases.
    package var databases: ClusterDatabases { servers.databases }
    /// The directory in which all gateways store rich content.
    package let contentDirectory: String
    package let processes: [ServiceProcess]
    package let surroundings: Surroundings
    /// The proxy that loses publications; nil if none are lost.
    package let lossy: LossyPublications?
    package let urls: [String]
    private let clients: [ProtocolVersion: [ProtocolClient]]

    private init(
        servers: ClusterServers, contentDirectory: String, processes: [ServiceProcess], surroundings: Surroundings,
        lossy: LossyPublications?, urls: [String]
    ) throws {
        self.servers = servers
        self.contentDirectory = contentDirectory
        self.processes = processes
        self.surroundings = surroundings
        self.lossy = lossy
        self.urls = urls
        clients = try Dictionary(
            uniqueKeysWithValues: ProtocolVersion.allCases.map { version in
                (version, try urls.map { try ProtocolClient(baseURL: $0, version: version) })
            })
    }

    /// Starts all processes and waits until they are ready.
    package static func start(_ size: Size = Size()) async throws -> Cluster {
        let directory = try TestDirectory.make("cluster")
        let surroundings = try await Surroundings.make(size.facilities, latency: size.machines?.latency ?? 0)
        let servers = try await ClusterServers.start(size, surroundings)
        let lossy: LossyPublications? =
            if let nth = size.lostPublications {
                try await LossyPublications.start(to: servers.redis[0].port, every: nth)
            } else {
                nil
            }
        let plan = try await Plan(
            size: size, directory: directory, servers: servers,
            publishing: lossy.map { "redis://\(surroundings.home):\($0.port)" } ?? servers.redisURL, surroundings)
        let cluster = try Cluster(
            servers: servers, contentDirectory: plan.contentDirectory, processes: plan.processes,
            surroundings: surroundings, lossy: lossy, urls: plan.urls)
        do {
            try await cluster.startProcesses()
        } catch {
            await cluster.stop()
            throw error
        }
        return cluster
    }

    private func startProcesses() async throws {
        for isGateway in [false, true] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for process in processes where (process.kind == .gateway) == isGateway {
                    group.addTask { try await process.start() }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Stops all processes, gateways first.
    package func stop() async {
        for clients in clients.values { for client in clients { try? await client.shutdown() } }
        for process in processes.reversed() { await process.stop() }
        await lossy?.stop()
        await servers.stop()
        await surroundings.end()
    }

    package func client(_ gateway: Int, _ version: ProtocolVersion) -> ProtocolClient {
        let all = clients[version] ?? []
        return all[gateway % all.count]
    }

    /// Runs `body` with a cluster for one test.
    package static func with(_ size: Size, _ body: (Cluster) async throws -> Void) async throws {
        let cluster = try await start(size)
        do {
            try await body(cluster)
        } catch {
            await cluster.stop()
            throw error
        }
        await cluster.stop()
    }

    package func instances(of kind: ServiceProcess.Kind) -> [ServiceProcess] { processes.filter { $0.kind == kind } }
}

extension Cluster {
    /// The processes of a cluster with their addresses and settings.
    private struct Plan {
        var processes: [ServiceProcess] = []
        var urls: [String] = []
        let contentDirectory: String

        /// - Parameter publishing: The Redis URL for services that publish changes.
        init(
            size: Size, directory: String, servers: ClusterServers, publishing: String, _ surroundings: Surroundings
        ) async throws {
            contentDirectory = directory + "/content"
            let counts: [(ServiceProcess.Kind, Int)] = [
                (.conversations, size.conversations), (.metadata, size.metadata), (.presence, size.presence),
                (.webhooks, size.webhooks),
                (.gateway, size.gateways),
            ]
            var ports = try LoopbackPort.free(counts.map { $0.1 * 2 }.reduce(0, +))
            var addresses: [String: String] = [:]
            for (kind, count) in counts {
                var own: [String] = []
                for number in 0..<count {
                    let (port, admin) = (ports.removeLast(), ports.removeLast())
                    let host = try await surroundings.network?.host()
                    let address = host?.address.description ?? "127.0.0.1"
                    let isPublishing = kind == .conversations || kind == .metadata
                    var environment = Self.common(
                        admin: "\(address):\(admin)", redis: isPublishing ? publishing : servers.redisURL)
                    environment["STRATA_INSTANCE"] = "\(kind.rawValue)-\(number + 1)"
                    environment[kind == .gateway ? "STRATA_HTTP_PORT" : "STRATA_RPC_PORT"] = "\(port)"
                    environment[kind == .gateway ? "STRATA_HTTP_HOST" : "STRATA_RPC_HOST"] = address
                    if kind == .gateway {
                        environment["STRATA_PUBLIC_URL"] = "https://chat.test"
                        environment["STRATA_CONTENT_DIRECTORY"] = contentDirectory
                        environment["STRATA_WEBHOOKS_SECRET"] = Cluster.webhooksSecret
                        environment["STRATA_DATABASES"] = servers.databases.names.joined(separator: ",")
                        environment.merge(addresses) { $1 }
                        urls.append("http://\(address):\(port)")
                    }
                    if kind == .webhooks {
                        environment["STRATA_PUBLIC_URL"] = "https://chat.test"
                        environment["STRATA_REDIS_URL"] = nil
                        environment["STRATA_CLUSTER_SECRET"] = nil
                        environment["STRATA_WEBHOOKS_SECRET"] = Cluster.webhooksSecret
                    }
                    if isPublishing || kind == .webhooks {
                        let home = size.machines == nil ? surroundings.home : nil
                        environment["STRATA_POSTGRES_URL"] = servers.databases.list {
                            Self.url($0, at: home, role: "strata_\(kind.rawValue)")
                        }
                    }
                    environment.merge(size.settings) { $1 }
                    own.append("\(address):\(port)")
                    processes.append(
                        try ServiceProcess(
                            kind: kind, name: "\(kind.rawValue)-\(number + 1)", directory: directory, adminPort: admin,
                            environment: environment,
                            openFiles: size.openFiles[kind], host: host, clock: surroundings.newClock()))
                }
                addresses["STRATA_\(kind.rawValue.uppercased())_ADDRESSES"] = own.joined(separator: ",")
            }
        }

        private static func common(admin: String, redis: String) -> [String: String] {
            let admin = admin.split(separator: ":").map(String.init)
            return [
                "PATH": "/usr/bin:/bin", "STRATA_CLUSTER_SECRET": Cluster.secret,
                "STRATA_ADMIN_HOST": admin[0], "STRATA_ADMIN_PORT": admin[1], "STRATA_REDIS_URL": redis,
                "STRATA_LOG_LEVEL": "debug",
                "STRATA_SHUTDOWN_TIMEOUT": "5s",
            ]
        }

        /// Returns the URL of a database for a service.
        /// - Parameter host: The host that services use. nil: that of the URL.
        private static func url(_ database: String, at host: String?, role: String) -> String {
            var parts = URLComponents(string: database) ?? URLComponents()
            parts.user = role
            if let host { parts.host = host }
            parts.password = Cluster.databasePassword
            return parts.string ?? database
        }
    }
}
