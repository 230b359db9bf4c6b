// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Selects the seeds of a simulation, and reports those that fail.
///
/// `STRATA_SIMULATION_SEEDS`: the number of seeds, starting with `STRATA_SIMULATION_FIRST` or 1.
/// `STRATA_SIMULATION_SEED`: a single seed, as printed by a failing run.
enum Seeds {
    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

    /// - Parameter count: the default number of seeds. The short tier runs a quarter of them.
    static func chosen(_ count: UInt64) -> [UInt64] {
        if let one = number("STRATA_SIMULATION_SEED") { return [one] }
        let first = min(number("STRATA_SIMULATION_FIRST") ?? 1, 1 << 60)
        return Array(
            first..<first
                + min(
                    max(1, number("STRATA_SIMULATION_SEEDS") ?? TestTier.pick(short: count / 4, long: count)), 1 << 20))
    }

    /// Runs all seeds and prints a summary. The first violation ends the run and prints its trace.
    static func check(
        _ seeds: [UInt64], suite: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ run: (UInt64) -> RunReport
    ) {
        let clock = ContinuousClock()
        let began = clock.now
        var steps = 0
        var counts: [String: Int] = [:]
        for seed in seeds {
            let report = run(seed)
            steps += report.steps
            counts.merge(report.counts) { $0 + $1 }
            guard report.isGood else {
                Issue.record(Comment(rawValue: report.complaint(suite: suite)), sourceLocation: sourceLocation)
                return
            }
        }
        let seconds = (clock.now - began) / .seconds(1)
        let what = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print(
            "\(suite): \(seeds.count) seeds, \(steps) steps, \(Int(Double(steps) / max(seconds, 0.001))) a second; \(what)"
        )
    }
}
