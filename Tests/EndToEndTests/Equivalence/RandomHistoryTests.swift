// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import Synchronization
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Random histories, each compared with a fresh load. Each has its own seed and can be run alone. Environment
    /// variables:
    /// - `STRATA_HISTORIES`: the number of histories.
    /// - `STRATA_HISTORY_SEED`: the seed of the first history; each further one has the next number.
    /// - `STRATA_HISTORY_TIMES`: the number of repetitions of each history. The interleaving of concurrent histories
    ///   depends on the machine, so that a fault may show in one run only.
    @Suite("random histories")
    struct RandomHistoryTests {
        private static let defaultCount = TestTier.pick(short: 24, long: 120)
        private static let defaultSeed: UInt64 = 20_180_504
        /// The maximum number of concurrent histories.
        private static let width = 12

        @Test("all clients hold the same state as a fresh load after random changes and disconnections")
        func equivalent() async throws {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRATA_HISTORIES"].flatMap(Int.init) ?? Self.defaultCount
            let first = environment["STRATA_HISTORY_SEED"].flatMap(UInt64.init) ?? Self.defaultSeed
            let times = environment["STRATA_HISTORY_TIMES"].flatMap(Int.init) ?? 1
            print("\(count) random histories, STRATA_HISTORY_SEED=\(first)")
            // User names derive from the seed, so each repetition uses another app.
            var histories: [(plan: HistoryPlan, app: TestApp)] = []
            for time in 0..<times {
                let app = try await Cluster.shared().app()
                histories += (0..<count).map { (HistoryGenerator.plan(seed: first &+ UInt64($0), time: time), app) }
            }
            let started = ContinuousClock.now
            let report = await Self.run(histories)
            let seconds = Double((ContinuousClock.now - started).components.seconds)
            print(
                "\(count) histories in \(seconds) s: \(report.requests) operations, \(report.refusals) of them refused, \(report.packets) packets, "
                    + "\(report.replays) replays, \(report.loads) lists loaded, \(report.failures.count) differences or faults"
            )
            for failure in report.failures.prefix(50) { Issue.record("\(failure)") }
        }

        private static func run(_ histories: [(plan: HistoryPlan, app: TestApp)]) async -> HistoryRun.Report {
            await withTaskGroup(of: HistoryRun.Report.self) { group in
                var total = HistoryRun.Report()
                for (number, (plan, app)) in histories.enumerated() {
                    if number >= width, let report = await group.next() { total.add(report) }
                    group.addTask { await one(plan, in: app) }
                }
                for await report in group { total.add(report) }
                return total
            }
        }

        private static func one(_ plan: HistoryPlan, in app: TestApp) async -> HistoryRun.Report {
            do {
                let report = try await HistoryRun.start(plan, in: app).run()
                if !report.failures.isEmpty { print("\(plan.name) failed") }
                return report
            } catch {
                return HistoryRun.Report(failures: ["\(plan.name) did not begin: \(error)"])
            }
        }
    }
}
