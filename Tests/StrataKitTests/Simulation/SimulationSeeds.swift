// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

/// Selects and runs the seeds, and reports those that fail.
///
/// `STRATA_SIMULATION_SEEDS`: the number of seeds, starting with 1. `STRATA_SIMULATION_SEED`: a single seed, with its
/// trace.
enum SimulationSeeds {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// - Parameter count: the default number of seeds. The short tier runs a quarter of them.
    static func chosen(_ count: UInt64) -> [UInt64] {
        if let one = number("STRATA_SIMULATION_SEED") { return [one] }
        return Array(1...max(1, number("STRATA_SIMULATION_SEEDS") ?? TestTier.pick(short: count / 4, long: count)))
    }

    /// Runs all selected seeds, and reports those that violate a guarantee.
    static func run(
        _ history: SimulatedHistory, count: UInt64, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let seeds = chosen(count)
        let began = ContinuousClock.now
        let reports = try await reports(history, seeds)
        let failed = reports.filter { !$0.violations.isEmpty }.sorted { $0.seed < $1.seed }
        print(
            "\(seeds.count) seeds, \(reports.map(\.accepted).reduce(0, +)) changes, \(failed.count) failed, \(ContinuousClock.now - began)"
        )
        guard let first = failed.first else { return }
        let trace = number("STRATA_SIMULATION_SEED") == nil ? [] : try history.run(first.seed, traces: true).trace
        let words =
            ["seeds \(failed.map(\.seed)) failed; STRATA_SIMULATION_SEED=\(first.seed) shows the trace of one"] + trace
            + failed.prefix(8).map { "seed \($0.seed): \($0.violations.prefix(6).joined(separator: "\n  "))" }
        Issue.record(Comment(rawValue: words.joined(separator: "\n")), sourceLocation: sourceLocation)
    }

    /// Runs two seeds at a time, because other tests run concurrently.
    static func reports(_ history: SimulatedHistory, _ seeds: [UInt64]) async throws -> [SimulatedHistory.Report] {
        try await withThrowingTaskGroup(of: [SimulatedHistory.Report].self) { group in
            for half in 0..<2 {
                group.addTask {
                    try await onThread { try seeds.filter { $0 % 2 == UInt64(half) }.map { try history.run($0) } }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Runs work on a separate thread. Simulations take long, and other tests need the threads of the task pool.
    static func onThread<Value: Sendable>(_ work: @Sendable @escaping () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try work() }) }.start()
        }
    }
}
