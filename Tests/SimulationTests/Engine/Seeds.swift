// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Which seeds a simulation runs, and what becomes of those that fail.
///
/// `STRATA_SIMULATION_SEEDS`: how many, from `STRATA_SIMULATION_FIRST` on, or from 1. `STRATA_SIMULATION_SEED`: this one only, as a failing run says.
enum Seeds {
    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

    /// - Parameter count: the number of seeds without these variables. The short tier runs a quarter of them.
    static func chosen(_ count: UInt64) -> [UInt64] {
        if let one = number("STRATA_SIMULATION_SEED") { return [one] }
        let first = min(number("STRATA_SIMULATION_FIRST") ?? 1, 1 << 60)
        return Array(first..<first + min(max(1, number("STRATA_SIMULATION_SEEDS") ?? TestTier.pick(short: count / 4, long: count)), 1 << 20))
    }

    /// Runs them all and says how it went; the first that breaks a promise ends it, with its trace.
    static func check(_ seeds: [UInt64], suite: String, sourceLocation: SourceLocation = #_sourceLocation, _ run: (UInt64) -> RunReport) {
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
        print("\(suite): \(seeds.count) seeds, \(steps) steps, \(Int(Double(steps) / max(seconds, 0.001))) a second; \(what)")
    }
}
