// SPDX-License-Identifier: Apache-2.0

import Foundation
import KitClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Random histories of clients with StrataKit and strata.js. `STRATA_KIT_HISTORIES` sets their number and
    /// `STRATA_KIT_SEED` the first seed. Each further history has the next seed and can be run alone.
    @Suite("StrataKit: random histories")
    struct KitHistoriesTests {
        /// The histories at a time. Each device is a process.
        private static let width = 8

        @Test(
            "all stores equal the server and no sent change is lost, after random offline work and lost answers",
            .proves("OFF-7", "OFF-8", "SYNC-7", "SYNC-70", "CLNT-4", "RCPT-1", "RCPT-3", "RCPT-6"))
        func strataKit() async throws { try await run(TestTier.pick(short: 2, long: 8), of: [.strataKit]) }

        @Test(
            "stores of StrataKit and strata.js equal the server, and fresh ones, and no sent change is lost",
            .enabled(if: Node.path != nil, "\(Node.comment)"))
        func both() async throws { try await run(TestTier.pick(short: 3, long: 20), of: [.strataKit, .strataJS]) }

        /// Runs histories, several at a time.
        private func run(_ defaultCount: Int, of libraries: [KitLibrary]) async throws {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRATA_KIT_HISTORIES"].flatMap(Int.init) ?? defaultCount
            let first = environment["STRATA_KIT_SEED"].flatMap(UInt64.init) ?? 20_180_504
            let app = try await Cluster.shared().app()
            let started = ContinuousClock.now
            var (problems, operations): ([String], Int) = ([], 0)
            await withTaskGroup(of: (problems: [String], operations: Int).self) { group in
                for number in 0..<count {
                    if number >= Self.width, let result = await group.next() {
                        problems += result.problems
                        operations += result.operations
                    }
                    group.addTask { await Self.one(first &+ UInt64(number), app, libraries) }
                }
                for await result in group {
                    problems += result.problems
                    operations += result.operations
                }
            }
            print(
                "\(count) histories of \(libraries.map(\.rawValue).joined(separator: " and ")), STRATA_KIT_SEED=\(first), \(operations) operations in \(ContinuousClock.now - started)"
            )
            for problem in problems.prefix(60) { Issue.record("\(problem)") }
        }

        private static func one(
            _ seed: UInt64, _ app: TestApp, _ libraries: [KitLibrary]
        ) async -> (problems: [String], operations: Int) {
            do {
                var history = KitHistory(seed: seed, app: app, libraries: libraries)
                return try await history.run()
            } catch {
                return (["seed \(seed) did not run: \(error)"], 0)
            }
        }
    }
}
