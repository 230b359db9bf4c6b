// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Fuzzing of REST and WebSocket. `STRATA_FUZZ` sets the number of requests and frames, `STRATA_FUZZ_SEED` the
    /// seed.
    @Suite("fuzzing")
    struct FuzzTests {
        private static let defaultCount = 4000
        private static let defaultSeed: UInt64 = 1
        private static let workers = 8
        /// The number of units after which the users are replaced, because their lists would grow too long.
        private static let unitsPerUser = 800

        @Test(
            "no input crashes or leaks anything, answers stay below 500, and a demo passes afterwards",
            .timeLimit(.minutes(30)), .long)
        func survives() async throws {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRATA_FUZZ"].flatMap(Int.init) ?? Self.defaultCount
            let seed = environment["STRATA_FUZZ_SEED"].flatMap(UInt64.init) ?? Self.defaultSeed
            let settings = [
                "STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s", "STRATA_PRESENCE_GRACE": "1s",
                "STRATA_LOG_LEVEL": "info",
            ]
            let cluster = try await Cluster.start(Cluster.Size(gateways: 2, settings: settings))
            do {
                try await run(count, seed, on: cluster)
            } catch {
                for process in cluster.processes where await process.pid == nil {
                    let (name, log) = (process.name, process.log)
                    Issue.record("\(name) has ended; the end of its log: \(LogTail.last(400, of: log).prefix(12_000))")
                }
                await cluster.stop()
                throw error
            }
            await cluster.stop()
        }

        private func run(_ count: Int, _ seed: UInt64, on cluster: Cluster) async throws {
            print("fuzzing: \(count) requests and frames, STRATA_FUZZ_SEED=\(seed)")
            let (tally, started) = (FuzzTally(), ContinuousClock.now)
            let app = try await cluster.app()
            var watch = await ProcessWatch(cluster.processes)
            try await fuzz(count / 5, seed, app, tally)
            let idle = try await settled(cluster, &watch)
            // Run twenty more stretches, and sample the memory after each.
            for part in 1...20 {
                try await fuzz(count / 25, seed &+ UInt64(part) &* 1000, app, tally)
                watch.take()
            }
            let fuzzed = ContinuousClock.now - started
            let end = try await settled(cluster, &watch)
            print("\(tally.count) in \(fuzzed.components.seconds) s; \(tally.summary)")
            for failure in tally.failures { Issue.record("\(failure)") }
            #expect(await watch.ended() == [])
            for process in cluster.processes {
                #expect(try await process.health("/health/live") == 200, "\(process.name)")
                #expect(try await process.health("/health/ready") == 200, "\(process.name)")
                #expect(!(await process.output.contains("Fatal error")), "\(process.name)")
            }
            for (index, name) in watch.names.enumerated() {
                let (before, after, growth) = (idle[index], end[index], watch.growth(of: index))
                print(
                    "\(name): \(before.memory >> 10) KB after the warm-up, \(after.memory >> 10) KB at the end, \(Int(growth) >> 10) KB of growth in the last half; "
                        + "\(before.sockets) sockets, then \(after.sockets); \(before.files) files, then \(after.files)"
                )
                #expect(Double(after.memory) <= Double(before.memory) * 1.15 + 16e6, "\(name)")
                #expect(growth <= Double(after.memory) * 0.05 + 4e6, "\(name)")
            }
            let launch = Launch(try Executables.find("strata"), arguments: DemoTests.arguments(app, cluster.urls))
            let demo = try await ChildProcess.run(launch, timeout: .seconds(240))
            #expect(demo.status == 0, "\(demo.output)")
        }

        /// Waits until the gateways have closed the fuzzers' connections. The connections between the services remain.
        private func settled(_ cluster: Cluster, _ watch: inout ProcessWatch) async throws -> [ProcessWatch.Sample] {
            var last: [ProcessWatch.Sample] = []
            for gateway in cluster.instances(of: .gateway) {
                let pid = await gateway.pid ?? 0
                // The remaining sockets are those of the services and Redis, the listeners, and this process's
                // connection pool.
                try await eventually("\(gateway.name) has no connection left of those it was fuzzed over") {
                    ProcessWatch.sample(pid).sockets < 40
                }
            }
            watch.take()
            last = watch.samples.last ?? []
            return last
        }

        private func fuzz(_ count: Int, _ seed: UInt64, _ app: TestApp, _ tally: FuzzTally) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<Self.workers {
                    group.addTask { try await Self.work(count / Self.workers, seed &+ UInt64(worker), app, tally) }
                }
                try await group.waitForAll()
            }
        }

        private static func work(_ count: Int, _ seed: UInt64, _ app: TestApp, _ tally: FuzzTally) async throws {
            var left = count
            var generator = SeededGenerator(seed: seed)
            while left > 0 {
                let name = "fuzz\(generator.int(0...Int.max))"
                let gateway = generator.int(0...1)
                let targets = try await FuzzTargets.make(
                    in: app, name: name, gateway: gateway, version: generator.chance(50) ? .v2 : .v3)
                guard let port = URL(string: app.system.urls[gateway])?.port else {
                    throw CommandFailure(.usage, "a gateway without a port")
                }
                var rest = RESTFuzzer(seed: generator.next(), targets: targets, port: port, tally: tally)
                var sockets = SocketFuzzer(seed: generator.next(), targets: targets, port: port, tally: tally)
                var lazy = LazyFuzzer(seed: generator.next(), targets: targets, port: port, tally: tally)
                for _ in 0..<min(left, unitsPerUser) {
                    switch generator.int(0...99) {
                    case 0...54: try await rest.one()
                    case 55...95: try await sockets.one()
                    default: try await lazy.one()
                    }
                }
                left -= min(left, unitsPerUser)
                await rest.drop()
                await sockets.drop()
                await lazy.drop()
            }
        }
    }
}
