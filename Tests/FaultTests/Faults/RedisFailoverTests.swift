// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestCluster
import TestSupport
import TestTiers
import Testing

/// Tests that a replica of Redis which takes over costs no change, under the load and by the judge of ``FaultTests``.
/// The variables of the environment are the same, too.
@Suite("Redis fails over under load", .serialized, .long)
struct RedisFailoverTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let isLong = environment["STRATA_FAULT_MINUTES"] != nil
    private static let period = Duration.seconds(isLong ? 20 : 2)
    private static let table = FaultTable("Redis with replicas", seed: seed, isLong: isLong)
    private static let size = Cluster.Size(gateways: 2, conversations: 2, metadata: 2, presence: 2)

    private static func run(
        _ name: String, _ number: UInt64, on cluster: Cluster, _ injection: @escaping @Sendable () async throws -> Void
    ) async throws {
        let trial = Trial(name, seed: seed &+ 1000 * number, period: period) { _, _ in try await injection() }
        let row = try await trial.run(on: cluster)
        print(row)
        table.add(row)
        if environment["STRATA_FAULT_TABLE"]?.isEmpty == false { try table.write() }
    }

    @Test("masters of a cluster are killed, hang and hand over, and no change is lost, duplicated or reordered")
    func cluster() async throws {
        let redis = try await RedisCluster.start(withReplicas: true)
        var size = Self.size
        size.settings = ["STRATA_REDIS_URL": redis.url]
        try await Cluster.with(size) { cluster in
            try await Self.run("a master of a Redis Cluster is killed, and its replica takes over", 100, on: cluster) {
                let (master, replica) = try await redis.pair(0)
                await master.kill()
                try await replica.waitUntilMaster()
                try await Task.sleep(for: Self.period)
                try await master.restart()
                try await master.waitUntilReplica()
            }
            try await Self.run("a master of a Redis Cluster hangs, and its replica takes over", 101, on: cluster) {
                let (master, replica) = try await redis.pair(1)
                await master.suspend()
                try await replica.waitUntilMaster()
                try await Task.sleep(for: Self.period)
                await master.resume()
                try await master.waitUntilReplica()
            }
            try await Self.run("a master of a Redis Cluster hands over to its replica", 102, on: cluster) {
                try await redis.handOver(2)
                try await Task.sleep(for: Self.period)
            }
        }
        await redis.stop()
    }

    @Test(
        "a single Redis is killed, its replica takes over its address, and no change is lost, duplicated or reordered")
    func single() async throws {
        try await Cluster.with(Self.size) { cluster in
            let (redis, port) = (cluster.redis, cluster.redis.port)
            let replica = try await TestServers.privateRedis(arguments: ["--replicaof", redis.host, "\(port)"])
            try await replica.waitUntilReplica()
            try await Self.run("Redis is killed, and its replica takes over its address", 103, on: cluster) {
                await redis.kill()
                try await replica.run("REPLICAOF", "NO", "ONE")
                try await replica.run("CONFIG", "SET", "port", "\(port)")
                try await Task.sleep(for: Self.period)
            }
            await replica.stop()
        }
    }
}
