// SPDX-License-Identifier: Apache-2.0

import LocalServers
import TestCluster

/// A dependency that is unavailable while the others run: a column of the table.
enum DegradedState: CaseIterable, Sendable {
    case postgresStopped, postgresHangs, redisStopped, redisHangs, conversationsAway, metadataAway, presenceAway,
        webhooksAway

    var title: String {
        switch self {
        case .postgresStopped: "PostgreSQL stopped"
        case .postgresHangs: "PostgreSQL hangs"
        case .redisStopped: "Redis stopped"
        case .redisHangs: "Redis hangs"
        case .conversationsAway: "conversations away"
        case .metadataAway: "metadata away"
        case .presenceAway: "presence away"
        case .webhooksAway: "webhooks away"
        }
    }

    func begin(_ cluster: Cluster) async {
        switch self {
        case .postgresStopped: await cluster.postgres.stop()
        case .postgresHangs: await cluster.postgres.suspend()
        case .redisStopped: await cluster.redis.stop()
        case .redisHangs: await cluster.redis.suspend()
        case .conversationsAway: for process in cluster.instances(of: .conversations) { await process.kill() }
        case .metadataAway: for process in cluster.instances(of: .metadata) { await process.kill() }
        case .presenceAway: for process in cluster.instances(of: .presence) { await process.kill() }
        case .webhooksAway: for process in cluster.instances(of: .webhooks) { await process.kill() }
        }
    }

    /// Restores the dependency; nothing else is restarted.
    func end(_ cluster: Cluster) async throws {
        switch self {
        case .postgresStopped: try await cluster.postgres.restart()
        case .postgresHangs: await cluster.postgres.resume()
        case .redisStopped: try await cluster.redis.restart()
        case .redisHangs: await cluster.redis.resume()
        case .conversationsAway: for process in cluster.instances(of: .conversations) { try await process.start() }
        case .metadataAway: for process in cluster.instances(of: .metadata) { try await process.start() }
        case .presenceAway: for process in cluster.instances(of: .presence) { try await process.start() }
        case .webhooksAway: for process in cluster.instances(of: .webhooks) { try await process.start() }
        }
    }

    /// True if sessions can be looked up. Otherwise the gateway serves sessions that it has looked up during the last
    /// five seconds, and then none.
    var knowsSessions: Bool {
        switch self {
        case .postgresStopped, .postgresHangs, .conversationsAway: false
        case .redisStopped, .redisHangs, .metadataAway, .presenceAway, .webhooksAway: true
        }
    }

    struct Sign: Sendable {
        /// The kind of process with the metrics and the log.
        let process: ServiceProcess.Kind
        /// The label of `strata_process_dependency_up`.
        let dependency: String
        /// The log lines for the failure and the recovery.
        let lines: (gone: String, back: String)
        /// The number of lines: one per connection pool, or fewer if some pools did not notice.
        let count: ClosedRange<Int>
    }

    private static let postgres = (gone: "PostgreSQL is unavailable", back: "PostgreSQL is available again")
    private static let redis = (gone: "Redis is unavailable", back: "Redis is available again")
    private static let service = (gone: "service is unavailable", back: "service is available again")

    var signs: [Sign] {
        switch self {
        case .postgresStopped:
            [
                Sign(process: .conversations, dependency: "postgres", lines: Self.postgres, count: 3...3),
                Sign(process: .metadata, dependency: "postgres", lines: Self.postgres, count: 2...2),
                Sign(process: .webhooks, dependency: "postgres", lines: Self.postgres, count: 1...1),
            ]
        case .postgresHangs:
            [
                Sign(process: .conversations, dependency: "postgres", lines: Self.postgres, count: 1...3),
                // The service has one pool, and polls for work continuously.
                Sign(process: .webhooks, dependency: "postgres", lines: Self.postgres, count: 1...1),
            ]
        case .redisStopped, .redisHangs:
            [ServiceProcess.Kind.gateway, .conversations, .metadata, .presence]
                .map { Sign(process: $0, dependency: "redis", lines: Self.redis, count: 1...1) }
        case .conversationsAway:
            [Sign(process: .gateway, dependency: "conversations", lines: Self.service, count: 1...1)]
        case .metadataAway: [Sign(process: .gateway, dependency: "metadata", lines: Self.service, count: 1...1)]
        case .presenceAway: [Sign(process: .gateway, dependency: "presence", lines: Self.service, count: 1...1)]
        case .webhooksAway: [Sign(process: .gateway, dependency: "webhooks", lines: Self.service, count: 1...1)]
        }
    }
}
