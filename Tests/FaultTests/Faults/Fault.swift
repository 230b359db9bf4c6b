// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import Testing

/// Something that happens to a running system, and passes.
enum Fault: CaseIterable, Sendable, CustomTestStringConvertible {
    case gatewayKilled, conversationsKilled, metadataKilled, presenceKilled
    case gatewayHangs, conversationsHangs, metadataHangs, presenceHangs
    case redisKilled, redisHangs
    case postgresRestarted, postgresKilled, postgresHangs
    case readersStop, rollingRestart

    /// What excludes each other.
    static let groups: [[Fault]] = [
        [.gatewayKilled, .gatewayHangs], [.conversationsKilled, .conversationsHangs], [.metadataKilled, .metadataHangs],
        [.presenceKilled, .presenceHangs], [.redisKilled, .redisHangs], [.postgresRestarted, .postgresKilled, .postgresHangs], [.readersStop],
    ]

    var testDescription: String {
        switch self {
        case .gatewayKilled: "a gateway is killed"
        case .conversationsKilled: "an instance of conversations is killed"
        case .metadataKilled: "an instance of metadata is killed"
        case .presenceKilled: "an instance of presence is killed"
        case .gatewayHangs: "a gateway hangs"
        case .conversationsHangs: "an instance of conversations hangs"
        case .metadataHangs: "an instance of metadata hangs"
        case .presenceHangs: "an instance of presence hangs"
        case .redisKilled: "Redis is killed and comes back empty"
        case .redisHangs: "Redis hangs"
        case .postgresRestarted: "PostgreSQL is restarted"
        case .postgresKilled: "PostgreSQL is killed"
        case .postgresHangs: "PostgreSQL hangs"
        case .readersStop: "a third of the clients stop reading"
        case .rollingRestart: "every process is restarted, one after the other"
        }
    }

    /// Lets it happen to `cluster` and pass again.
    /// - Parameters:
    ///   - load: whose clients it may happen to.
    ///   - period: how long what is away stays away.
    func happen(to cluster: Cluster, under load: Load, for period: Duration, _ generator: inout SeededGenerator) async throws {
        switch self {
        case .gatewayKilled: try await kill(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsKilled: try await kill(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataKilled: try await kill(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceKilled: try await kill(generator.pick(cluster.instances(of: .presence)), for: period)
        case .gatewayHangs: try await suspend(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsHangs: try await suspend(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataHangs: try await suspend(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceHangs: try await suspend(generator.pick(cluster.instances(of: .presence)), for: period)
        case .redisKilled:
            await cluster.redis.kill()
            try await Task.sleep(for: period)
            try await cluster.redis.startAgain()
        case .redisHangs:
            await cluster.redis.suspend()
            try await Task.sleep(for: period)
            await cluster.redis.resume()
        case .postgresRestarted:
            await cluster.postgres.stop()
            try await Task.sleep(for: period)
            try await cluster.postgres.startAgain()
        case .postgresKilled:
            await cluster.postgres.kill()
            try await Task.sleep(for: period)
            try await cluster.postgres.startAgain()
        case .postgresHangs:
            await cluster.postgres.suspend()
            try await Task.sleep(for: period)
            await cluster.postgres.resume()
        case .readersStop:
            let sockets = load.clients.enumerated().filter { $0.offset.isMultiple(of: 3) }.compactMap(\.element.socket)
            for socket in sockets { try? await socket.pauseReading() }
            try await Task.sleep(for: period)
            for socket in sockets { try? await socket.resumeReading() }
        case .rollingRestart:
            for process in cluster.processes {
                await process.end()
                try await process.start()
            }
        }
    }

    private func kill(_ process: ServiceProcess, for period: Duration) async throws {
        await process.kill()
        try await Task.sleep(for: period)
        try await process.start()
    }

    private func suspend(_ process: ServiceProcess, for period: Duration) async throws {
        await process.suspend()
        try await Task.sleep(for: period)
        await process.resume()
    }
}
