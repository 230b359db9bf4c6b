// SPDX-License-Identifier: Apache-2.0

import LocalServers
import TestCluster

/// What may be away while the rest is there: a column of the table.
enum DegradedState: CaseIterable, Sendable {
    case postgresStopped, postgresHangs, redisStopped, redisHangs, conversationsAway, metadataAway, presenceAway, webhooksAway

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

    /// It is there again; nothing else is restarted.
    func end(_ cluster: Cluster) async throws {
        switch self {
        case .postgresStopped: try await cluster.postgres.startAgain()
        case .postgresHangs: await cluster.postgres.resume()
        case .redisStopped: try await cluster.redis.startAgain()
        case .redisHangs: await cluster.redis.resume()
        case .conversationsAway: for process in cluster.instances(of: .conversations) { try await process.start() }
        case .metadataAway: for process in cluster.instances(of: .metadata) { try await process.start() }
        case .presenceAway: for process in cluster.instances(of: .presence) { try await process.start() }
        case .webhooksAway: for process in cluster.instances(of: .webhooks) { try await process.start() }
        }
    }

    /// Whether sessions can be looked up. Where not, the gateway serves those it has asked about in the last five seconds, and then none.
    var knowsSessions: Bool {
        switch self {
        case .postgresStopped, .postgresHangs, .conversationsAway: false
        case .redisStopped, .redisHangs, .metadataAway, .presenceAway, .webhooksAway: true
        }
    }

    /// What tells an operator of it.
    struct Sign: Sendable {
        /// Whose metrics and log.
        let process: ServiceProcess.Kind
        /// The label of `strata_process_dependency_up`.
        let dependency: String
        /// The line that it writes when it goes, and when it is back.
        let lines: (gone: String, back: String)
        /// How many of either: one for each pool of connections, and fewer where not all of them noticed.
        let count: ClosedRange<Int>
    }

    private static let postgres = (gone: "PostgreSQL is unavailable", back: "PostgreSQL is available again")
    private static let redis = (gone: "Redis is unavailable", back: "Redis is available again")
    private static let service = (gone: "a service is unavailable", back: "a service is available again")

    var signs: [Sign] {
        switch self {
        case .postgresStopped:
            [
                Sign(process: .conversations, dependency: "postgres", lines: Self.postgres, count: 3...3),
                Sign(process: .metadata, dependency: "postgres", lines: Self.postgres, count: 3...3),
                Sign(process: .webhooks, dependency: "postgres", lines: Self.postgres, count: 1...1),
            ]
        case .postgresHangs:
            [
                Sign(process: .conversations, dependency: "postgres", lines: Self.postgres, count: 1...3),
                // It has one pool, and asks again and again whether there is something to do.
                Sign(process: .webhooks, dependency: "postgres", lines: Self.postgres, count: 1...1),
            ]
        case .redisStopped, .redisHangs:
            [ServiceProcess.Kind.gateway, .conversations, .metadata, .presence]
                .map { Sign(process: $0, dependency: "redis", lines: Self.redis, count: 1...1) }
        case .conversationsAway: [Sign(process: .gateway, dependency: "conversations", lines: Self.service, count: 1...1)]
        case .metadataAway: [Sign(process: .gateway, dependency: "metadata", lines: Self.service, count: 1...1)]
        case .presenceAway: [Sign(process: .gateway, dependency: "presence", lines: Self.service, count: 1...1)]
        case .webhooksAway: [Sign(process: .gateway, dependency: "webhooks", lines: Self.service, count: 1...1)]
        }
    }
}
