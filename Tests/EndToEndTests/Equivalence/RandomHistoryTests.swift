// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import Synchronization
import TestCluster
import TestSupport
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// `STRATA_HISTORIES` says how many, `STRATA_HISTORY_SEED` which is the first; each one has the next number as its seed, and can be run alone. How
    /// histories run into each other depends on the machine: a fault may show in one run and not in the next.
    @Suite("random histories")
    struct RandomHistoryTests {
        private static let defaultCount = 120
        private static let defaultSeed: UInt64 = 20_180_504
        /// At the same time.
        private static let width = 12

        @Test("whatever happened, and however often the line was cut: all clients hold what is loaded afresh")
        func equivalent() async throws {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRATA_HISTORIES"].flatMap(Int.init) ?? Self.defaultCount
            let first = environment["STRATA_HISTORY_SEED"].flatMap(UInt64.init) ?? Self.defaultSeed
            print("\(count) random histories, STRATA_HISTORY_SEED=\(first)")
            let app = try await Cluster.shared().app()
            let started = ContinuousClock.now
            let report = await Self.run(seeds: (0..<count).map { first &+ UInt64($0) }, in: app)
            let seconds = Double((ContinuousClock.now - started).components.seconds)
            print(
                "\(count) histories in \(seconds) s: \(report.requests) operations, \(report.refusals) of them refused, \(report.packets) packets, "
                    + "\(report.replays) replays, \(report.loads) lists loaded, \(report.failures.count) differences or faults")
            for failure in report.failures.prefix(50) { Issue.record("\(failure)") }
        }

        private static func run(seeds: [UInt64], in app: TestApp) async -> HistoryRun.Report {
            await withTaskGroup(of: HistoryRun.Report.self) { group in
                var total = HistoryRun.Report()
                for (number, seed) in seeds.enumerated() {
                    if number >= width, let report = await group.next() { total.add(report) }
                    group.addTask { await one(seed, in: app) }
                }
                for await report in group { total.add(report) }
                return total
            }
        }

        private static func one(_ seed: UInt64, in app: TestApp) async -> HistoryRun.Report {
            let plan = HistoryGenerator.plan(seed: seed)
            do {
                let report = try await HistoryRun.start(plan, in: app).run()
                if !report.failures.isEmpty { print("seed \(seed) failed: STRATA_HISTORIES=1 STRATA_HISTORY_SEED=\(seed)") }
                return report
            } catch {
                return HistoryRun.Report(failures: ["seed \(seed) did not begin: \(error)"])
            }
        }
    }
}
