// SPDX-License-Identifier: Apache-2.0

import LocalServers
import TestCluster

@testable import Soak

/// An event in a system of many machines.
enum MachineEvent: CaseIterable, Sendable, CustomStringConvertible {
    case rollingUpdate, machinesLost, gatewayCutOff, conversationsCutOff, postgresCutOff, otherPostgresCutOff
    case redisCutOff

    var description: String {
        switch self {
        case .rollingUpdate: "rolling update: every process ends after SIGTERM and is started again, one after another"
        case .machinesLost: "the machines of a gateway and of a conversations instance are lost, without a packet"
        case .gatewayCutOff: "a gateway's link is down"
        case .conversationsCutOff: "the link of a conversations instance is down"
        case .postgresCutOff: "the link of the app's PostgreSQL is down"
        case .otherPostgresCutOff: "the link of other apps' PostgreSQL is down"
        case .redisCutOff: "the link of a Redis master is down"
        }
    }

    /// Injects the event, and ends it after a time. A rolling update takes as long as it needs.
    func inject(into cluster: Cluster, for period: Duration) async throws {
        let (gateway, service) = (cluster.instances(of: .gateway)[0], cluster.instances(of: .conversations)[0])
        switch self {
        case .rollingUpdate:
            for process in cluster.processes {
                await process.end()
                try await process.start()
            }
        case .machinesLost:
            try await cut([gateway.host?.address, service.host?.address], in: cluster, for: period) {
                for process in [gateway, service] { await process.kill() }
            }
            for process in [gateway, service] { try await process.start() }
        case .gatewayCutOff: try await cut([gateway.host?.address], in: cluster, for: period)
        case .conversationsCutOff: try await cut([service.host?.address], in: cluster, for: period)
        case .postgresCutOff: try await cut(cluster.servers.postgres.last?.host, in: cluster, for: period)
        case .otherPostgresCutOff: try await cut(cluster.servers.postgres.first?.host, in: cluster, for: period)
        case .redisCutOff: try await cut(cluster.servers.redis.first?.host, in: cluster, for: period)
        }
    }

    private func cut(_ server: String?, in cluster: Cluster, for period: Duration) async throws {
        try await cut([server.flatMap { VirtualNetwork.Address($0) }], in: cluster, for: period)
    }

    /// Cuts machines off for a time. Their peers receive nothing, not even a reset.
    private func cut(
        _ addresses: [VirtualNetwork.Address?], in cluster: Cluster, for period: Duration,
        meanwhile body: () async -> Void = {}
    ) async throws {
        guard let network = cluster.surroundings.network else { return }
        let addresses = addresses.compactMap { $0 }
        for address in addresses { network.set(VirtualNetwork.Fault(isCut: true), at: address) }
        await body()
        try await Task.sleep(for: period)
        for address in addresses { network.set(nil, at: address) }
    }
}
