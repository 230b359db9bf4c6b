// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import LocalServers
import NetKit
import ProtocolClient
import RPC
import SeededRandom
import TestCluster
import TestSupport

@testable import Soak
@testable import StrataCommand

extension Fault {
    /// Injects the fault, waits, and ends it.
    /// - Parameters:
    ///   - load: the load whose clients may be affected.
    ///   - period: the duration of the fault.
    func inject(
        into cluster: Cluster, under load: Load, for period: Duration, _ generator: inout SeededGenerator
    ) async throws {
        switch self {
        case .gatewayKilled: try await kill(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsKilled: try await kill(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataKilled: try await kill(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceKilled: try await kill(generator.pick(cluster.instances(of: .presence)), for: period)
        case .webhooksKilled: try await kill(generator.pick(cluster.instances(of: .webhooks)), for: period)
        case .gatewayHangs: try await suspend(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsHangs: try await suspend(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataHangs: try await suspend(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceHangs: try await suspend(generator.pick(cluster.instances(of: .presence)), for: period)
        case .webhooksHangs: try await suspend(generator.pick(cluster.instances(of: .webhooks)), for: period)
        case .gatewayOutOfFiles:
            try await exhaustFiles(of: generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsOutOfFiles:
            try await exhaustFiles(of: generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataOutOfFiles:
            try await exhaustFiles(of: generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceOutOfFiles:
            try await exhaustFiles(of: generator.pick(cluster.instances(of: .presence)), for: period)
        case .redisKilled, .redisHangs: try await inject(into: cluster.redis, for: period)
        case .postgresRestarted, .postgresKilled, .postgresHangs: try await inject(into: cluster.postgres, for: period)
        case .diskFull: try await fillDisk(of: cluster, for: period)
        case .connectionsCut, .networkSlow, .networkLossy, .networkDivided:
            try await injectIntoNetwork(of: cluster, for: period, &generator)
        case .clockAhead: try await jump(generator.pick(cluster.processes).clock, by: 20, for: period)
        case .clockBehind: try await jump(generator.pick(cluster.processes).clock, by: -20, for: period)
        case .databaseClockAhead: try await jump(cluster.surroundings.databaseClock, by: 20, for: period)
        case .databaseClockBehind: try await jump(cluster.surroundings.databaseClock, by: -20, for: period)
        case .readersStop: try await stopReaders(of: load, for: period)
        case .hostileUsers: try await letHarm(load, on: cluster, for: period, &generator)
        case .appMoved: try await move(load.app, in: cluster.databases, for: period)
        case .rollingRestart:
            for process in cluster.processes {
                await process.end()
                try await process.start()
            }
        }
    }

    // MARK: Processes

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

    /// Opens connections until the process has no file descriptor left for connections, and keeps them open.
    private func exhaustFiles(of process: ServiceProcess, for period: Duration) async throws {
        let spare = 16
        let pid = await process.pid
        let before = await refused(by: process)
        let said = Self.complaints(of: process)
        try await process.limitFiles(to: spare + AcceptGuard.reserve)
        let crowd = Crowd(host: process.host?.address.description ?? "127.0.0.1", port: process.port)
        await crowd.open(4 * spare)
        try await Task.sleep(for: period)
        // The connections may arrive late, and descriptors that were free before may be used first. Then more
        // connections are needed.
        let (begun, patience) = (ContinuousClock.now, Duration.seconds(2))
        var waves = 1
        while Self.complaints(of: process) == said, await process.pid == pid, .now < begun + Waiting.limit {
            if .now > begun + patience * waves {
                waves += 1
                await crowd.open(4 * spare)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        await crowd.closeAll()
        try await process.limitFiles(to: nil)
        // At least one connection must have been refused, unless another fault has ended the process.
        guard let before, let after = await refused(by: process), await process.pid == pid else { return }
        if after == before { throw NothingRefused(process: process.name) }
    }

    private static func complaints(of process: ServiceProcess) -> Int {
        process.lines(containing: "connections cannot be accepted").count
    }

    /// Returns the number of connections that the process could not accept. nil if it does not answer, for example
    /// because of another fault.
    private func refused(by process: ServiceProcess) async -> Double? {
        for _ in 0..<3 {
            if let count = try? await process.metric("strata_process_accept_failures_total") { return count }
        }
        return nil
    }

    private func inject(into redis: PrivateRedis, for period: Duration) async throws {
        if case .redisHangs = self { await redis.suspend() } else { await redis.kill() }
        try await Task.sleep(for: period)
        if case .redisHangs = self { await redis.resume() } else { try await redis.restart() }
    }

    private func inject(into postgres: PrivatePostgres, for period: Duration) async throws {
        switch self {
        case .postgresRestarted: await postgres.stop()
        case .postgresKilled: await postgres.kill()
        default: await postgres.suspend()
        }
        try await Task.sleep(for: period)
        if case .postgresHangs = self { await postgres.resume() } else { try await postgres.restart() }
    }

    /// Fills the disk. PostgreSQL ends itself if it cannot write its log; its supervisor restarts it.
    private func fillDisk(of cluster: Cluster, for period: Duration) async throws {
        guard let disk = cluster.surroundings.disk else { return }
        try disk.fill()
        try await Task.sleep(for: period)
        disk.free()
        // PostgreSQL may be about to end although it was found running, so the restart is repeated until it answers.
        let end = ContinuousClock.now + Waiting.limit
        repeat { try await cluster.postgres.restart() } while !(await answers(cluster.postgres)) && .now < end
    }

    private func answers(_ postgres: PrivatePostgres) async -> Bool { (try? await postgres.runSQL("SELECT 1")) != nil }

    // MARK: Clients

    private func stopReaders(of load: Load, for period: Duration) async throws {
        let sockets = load.clients.enumerated().filter { $0.offset.isMultiple(of: 3) }.compactMap(\.element.socket)
        for socket in sockets { try? await socket.pauseReading() }
        try await Task.sleep(for: period)
        for socket in sockets { try? await socket.resumeReading() }
    }

    /// Runs hostile users for a time. They need some time to prepare their attacks.
    private func letHarm(
        _ load: Load, on cluster: Cluster, for period: Duration, _ generator: inout SeededGenerator
    ) async throws {
        let seed = generator.next()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Another fault may prevent the users from signing in; then they retry.
                while !Task.isCancelled {
                    if let hostile = try? await HostileUsers.start(against: load, on: cluster, seed: seed) {
                        return await hostile.run()
                    }
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            try? await Task.sleep(for: max(period, .seconds(8)))
            // On a slow machine preparations take longer. Another fault may prevent an attack entirely.
            _ = await load.recorder.hasAllHostilities(within: period + .seconds(20))
            group.cancelAll()
        }
    }

    // MARK: Databases

    /// Moves an app to another database, and back after a time. A move that another fault interrupts is repeated.
    private func move(_ app: TestApp, in databases: ClusterDatabases, for period: Duration) async throws {
        guard let list = DatabaseList(databases.list()), let other = AppStores(list).all.first,
            let home = AppStores(list).all.last, other.name != home.name
        else { return }
        for (source, target) in [(home, other), (other, home)] {
            var move = AppMove(app: app.app.id, source: source, target: target)
            move.grace = .zero
            let end = ContinuousClock.now + Waiting.limit + period
            while true {
                do {
                    try await move.run()
                    break
                } catch {
                    guard .now < end else { throw error }
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
            try await Task.sleep(for: period)
        }
    }

    // MARK: Clocks

    private func jump(_ clock: MovableClock?, by seconds: Int, for period: Duration) async throws {
        guard let clock else { return }
        try clock.jump(to: seconds)
        // A clock jump is noticed within a second.
        try await Task.sleep(for: period + .seconds(1))
        try clock.jump(to: 0)
    }

    // MARK: Networks

    private func injectIntoNetwork(
        of cluster: Cluster, for period: Duration, _ generator: inout SeededGenerator
    ) async throws {
        guard let network = cluster.surroundings.network else { return }
        let hosts = cluster.processes.compactMap(\.host?.address)
        switch self {
        case .connectionsCut:
            network.resetConnections(of: generator.pick(hosts))
            try await Task.sleep(for: period)
        case .networkSlow, .networkLossy:
            let fault =
                if case .networkSlow = self { VirtualNetwork.Fault(delay: 20...60) } else {
                    VirtualNetwork.Fault(loss: 3)
                }
            for host in hosts { network.set(fault, at: host) }
            try await Task.sleep(for: period)
            for host in hosts { network.set(nil, at: host) }
        default:
            let place = Division(of: cluster, network, &generator)
            network.set(VirtualNetwork.Fault(isCut: true), at: place.one, and: place.other, port: place.port)
            try await Task.sleep(for: period)
            network.set(nil, at: place.one, and: place.other, port: place.port)
        }
    }
}

/// A process that should have run out of descriptors continued to accept connections.
private struct NothingRefused: Error {
    let process: String
}

/// A network partition between two hosts.
private struct Division {
    var one: VirtualNetwork.Address
    var other: VirtualNetwork.Address
    /// The port, if the other side is a server on the network's own host.
    var port: Int?

    init(of cluster: Cluster, _ network: VirtualNetwork, _ generator: inout SeededGenerator) {
        let process = generator.pick(cluster.processes)
        one = process.host?.address ?? network.home
        other = network.home
        port = cluster.redis.port
        switch process.kind {
        case .gateway:
            let service = generator.pick(cluster.processes.filter { $0.kind != .gateway })
            if generator.chance(75), let address = service.host?.address { (other, port) = (address, nil) }
        case .conversations, .metadata, .webhooks: if generator.chance(50) { port = cluster.postgres.port }
        case .presence: break
        }
    }
}
