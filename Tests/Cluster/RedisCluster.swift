// SPDX-License-Identifier: Apache-2.0

package import LocalServers
import TestSupport

/// A Redis Cluster of three masters that share the slots, each server in its own process.
package struct RedisCluster: Sendable {
    /// The servers that are masters at first.
    package let masters: [PrivateRedis]
    /// The first replica of each master, in the same order; empty if there are none.
    private let replicas: [PrivateRedis]

    /// The URL of one node, through which the others are discovered.
    package var url: String { masters[0].url }

    private var servers: [PrivateRedis] { masters + replicas }

    /// Starts the servers, and waits until all of them know the cluster.
    /// - Parameter hosts: The hosts of the masters, if they have hosts of their own.
    package static func start(
        withReplicas: Bool = false, on hosts: [VirtualNetwork.Host] = []
    ) async throws -> RedisCluster {
        let failover = [
            "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
        ]
        let buses = try LoopbackPort.free(withReplicas ? 6 : 3)
        var servers: [PrivateRedis] = []
        for (index, bus) in buses.enumerated() {
            let directory = try TestDirectory.make("redis-node")
            servers.append(
                try await TestServers.privateRedis(
                    arguments: [
                        "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-config-file",
                        directory + "/nodes.conf", "--protected-mode", "no",
                    ] + (withReplicas ? failover : []),
                    on: hosts.indices.contains(index) ? hosts[index].server : .loopback))
        }
        let cluster = RedisCluster(masters: Array(servers.prefix(3)), replicas: Array(servers.dropFirst(3)))
        try await cluster.form(buses)
        return cluster
    }

    private func form(_ buses: [Int]) async throws {
        for (index, master) in masters.enumerated() {
            let (first, last) = (index * 5462, min(index * 5462 + 5461, 16_383))
            try await master.run("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(last)")
            try await master.run("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
        }
        for (server, bus) in zip(servers, buses).dropFirst() {
            try await masters[0].run("CLUSTER", "MEET", server.host, "\(server.port)", "\(bus)")
        }
        for server in servers {
            try await server.wait(for: "a complete cluster") {
                let info = try await $0.run("CLUSTER", "INFO").split(whereSeparator: \.isNewline)
                return ["cluster_state:ok", "cluster_size:3", "cluster_known_nodes:\(servers.count)"]
                    .allSatisfy { info.contains(Substring($0)) }
            }
        }
        for (master, replica) in zip(masters, replicas) {
            try await replica.run("CLUSTER", "REPLICATE", try await master.run("CLUSTER", "MYID"))
        }
        for replica in replicas { try await replica.waitUntilReplica() }
        // Only a server that knows a replica votes for it.
        for server in servers {
            try await server.wait(for: "knowledge of all replicas") {
                try await $0.run("CLUSTER", "NODES").split(separator: "\n").count { $0.contains("slave") }
                    == replicas.count
            }
        }
    }

    /// Returns the present roles of a master of the beginning and its replica.
    package func pair(_ index: Int) async throws -> (master: PrivateRedis, replica: PrivateRedis) {
        let (one, other) = (masters[index], replicas[index])
        return try await one.isMaster ? (one, other) : (other, one)
    }

    /// Lets a master hand over to its replica. Redis gives up after 5 s, which may happen on a busy machine.
    package func handOver(_ index: Int) async throws {
        let (master, replica) = try await pair(index)
        for _ in 1...5 where try await !replica.isMaster {
            try await replica.run("CLUSTER", "FAILOVER")
            try? await replica.waitUntilMaster(within: .seconds(6))
        }
        try await replica.waitUntilMaster()
        try await master.waitUntilReplica()
    }

    package func stop() async {
        for server in servers { await server.stop() }
    }
}

extension PrivateRedis {
    /// Runs a command.
    /// - Returns: the reply as redis-cli prints it, without the end of the last line.
    /// - Throws: ``LocalServerError`` `commandFailed` if the server refuses it or does not answer.
    @discardableResult
    package nonisolated func run(_ command: String...) async throws -> String {
        let words = ["-e", "-h", host, "-p", "\(port)"] + command
        let exit = try await ChildProcess.run(Launch(try Programs.findRedis("redis-cli"), arguments: words))
        guard exit.isSuccess else {
            throw LocalServerError(.commandFailed, "\(command.joined(separator: " ")): \(exit.output)")
        }
        return exit.output.hasSuffix("\n") ? String(exit.output.dropLast()) : exit.output
    }

    fileprivate nonisolated var isMaster: Bool { get async throws { try await run("ROLE").hasPrefix("master") } }

    /// Waits until the server serves writes.
    package nonisolated func waitUntilMaster(within limit: Duration = Waiting.limit) async throws {
        try await wait(for: "the role of a master", within: limit) { try await $0.isMaster }
    }

    /// Waits until the server follows its master.
    package nonisolated func waitUntilReplica() async throws {
        try await wait(for: "the role of a connected replica") {
            let role = try await $0.run("ROLE")
            return role.hasPrefix("slave") && role.contains("connected")
        }
    }

    /// Polls a state, which no event announces. A server that does not answer has not reached it.
    fileprivate nonisolated func wait(
        for state: String, within limit: Duration = Waiting.limit, _ isReached: (PrivateRedis) async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while (try? await isReached(self)) != true {
            guard .now < deadline else {
                throw LocalServerError(.timedOut, "Redis on port \(port) has not reached \(state)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
