// SPDX-License-Identifier: Apache-2.0

import LocalServers
import TestTiers
import Testing

@testable import Redis

/// A cluster of three masters that share the slots.
struct RedisCluster {
    let servers: [RedisServer]

    /// Runs `body` with a complete cluster and then kills it.
    /// - Parameter further: Additional options of each of the three servers.
    static func with(
        options further: [[String]] = [[], [], []], _ body: nonisolated(nonsending) (RedisCluster) async throws -> Void
    ) async throws {
        let options = try further.map {
            [
                "--cluster-enabled", "yes", "--cluster-node-timeout", "15000", "--cluster-port",
                "\(try LoopbackPort.free())",
            ] + $0
        }
        try await RedisServer.with(options[0]) { first async throws in
            try await RedisServer.with(options[1]) { second async throws in
                try await RedisServer.with(options[2]) { third async throws in
                    let cluster = RedisCluster(servers: [first, second, third])
                    try await cluster.form()
                    try await body(cluster)
                }
            }
        }
    }

    var seed: RedisEndpoint { servers[0].endpoint }

    /// Runs `body` with a client of a single server, without cluster mode.
    func withServer<Result: Sendable>(
        _ index: Int, _ body: nonisolated(nonsending) (RedisClient) async throws -> Result
    ) async throws -> Result {
        try await withClient(.test(servers[index].endpoint, isCluster: false), body)
    }

    func id(_ index: Int) async throws -> String {
        try await withServer(index) { client async throws in
            try #require(try await client.run("CLUSTER", "MYID").string)
        }
    }

    /// Returns the index of a key's server. Each server owns a third of the slots, in order.
    func owner(of key: String) -> Int { min(Int(HashSlot.of(key)) / 5462, 2) }

    /// Makes the owner answer ASK for missing keys, and the target import them.
    func beginMigration(of key: String, to target: Int) async throws {
        let (source, slot) = (owner(of: key), RedisArgument.integer(Int64(HashSlot.of(key))))
        let (sourceID, targetID) = (try await id(source), try await id(target))
        try await withServer(target) { client async throws in
            _ = try await client.run("CLUSTER", "SETSLOT", slot, "IMPORTING", .string(sourceID))
        }
        try await withServer(source) { client async throws in
            _ = try await client.run("CLUSTER", "SETSLOT", slot, "MIGRATING", .string(targetID))
        }
    }

    /// Transfers the slot to the target.
    func endMigration(of key: String, to target: Int) async throws {
        let (source, slot, targetID) = (
            owner(of: key), RedisArgument.integer(Int64(HashSlot.of(key))), try await id(target)
        )
        for index in [target, source] {
            try await withServer(index) { client async throws in
                _ = try await client.run("CLUSTER", "SETSLOT", slot, "NODE", .string(targetID))
            }
        }
    }

    private func form() async throws {
        for index in 0..<3 {
            try await withServer(index) { client async throws in
                let (first, last) = (Int64(index * 5462), Int64(min(index * 5462 + 5461, 16_383)))
                _ = try await client.run("CLUSTER", "ADDSLOTSRANGE", .integer(first), .integer(last))
                _ = try await client.run("CLUSTER", "SET-CONFIG-EPOCH", .integer(Int64(index + 1)))
            }
        }
        try await withServer(0) { client async throws in
            for index in 1..<3 {
                let busPort = try await withServer(index) { other async throws in
                    try #require(try await other.run("CONFIG", "GET", "cluster-port").array?.last?.int)
                }
                let port = RedisArgument.integer(Int64(servers[index].port))
                _ = try await client.run("CLUSTER", "MEET", "127.0.0.1", port, .integer(busPort))
            }
        }
        for index in 0..<3 {
            try await withServer(index) { client async throws in
                _ = try await eventually {
                    let info = try await client.run("CLUSTER", "INFO").string ?? ""
                    let slots = try await client.run("CLUSTER", "SLOTS").array ?? []
                    return info.contains("cluster_state:ok") && slots.count == 3
                }
            }
        }
    }
}
