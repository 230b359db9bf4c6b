// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataCommand

/// The CPU time and the context switches of a whole system that has nothing to do.
enum RestingScenario {
    /// The time from the start until pools, caches and leases have settled.
    private static let settling = Duration.seconds(20)
    /// The minimum length of a measurement in seconds.
    private static let shortest = 20.0

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try context.requireLocal("rest")
        return try await context.withTarget { target in
            guard let system = target.system else { throw BenchProblem("the target is remote") }
            try await Task.sleep(for: settling)
            let variant = ScenarioVariant(title: "one of each service") {
                try await measure(system, seconds: max(shortest, context.settings.seconds))
            }
            let reports = try await ScenarioVariant.interleave([variant], runs: context.settings.runs)
            return ScenarioReport(name: "the whole system at rest", unit: "1,000 s", variants: reports)
        }
    }

    private static func measure(_ system: BenchSystem, seconds: Double) async throws -> RunResult {
        let roots = Dictionary(grouping: system.state.processes, by: \.service)
            .mapValues { Set($0.map { Int($0.pid) }) }
        let (before, timesBefore) = (system.account(), ThreadTimes())
        let start = ContinuousClock.now
        try await Task.sleep(for: .seconds(seconds))
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        let (after, timesAfter) = (system.account(), ThreadTimes())
        let use = after - before
        var result = RunResult(figures: [])
        var total = 0.0
        for (service, own) in roots.sorted(by: { $0.key < $1.key }) {
            let time = timesAfter.time(of: own, since: timesBefore)
            total += time
            let switches = use.services[service]?.switches ?? ContextSwitches()
            result.services.append(
                ServiceCost(
                    service: service, processorTime: time / elapsed * 1e6,
                    voluntary: Double(switches.voluntary) / elapsed,
                    involuntary: Double(switches.involuntary) / elapsed))
        }
        result.figures = [
            Figure(FigureName.processorTime, total / elapsed * 1e3, "ms/s"),
            Figure("switches", Double(use.switches.voluntary) / elapsed, "voluntary/s"),
        ]
        return result
    }
}

/// The CPU time of all threads in nanoseconds, from `/proc/PID/task/TID/schedstat`.
///
/// `/proc/PID/stat` counts in steps of 10 ms for each process, which is too coarse for a system at rest.
struct ThreadTimes {
    private var times: [Int: [String: UInt64]] = [:]
    private let table = ProcessTable()

    init() {
        for pid in table.processes {
            for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? [] {
                let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/schedstat", encoding: .utf8)
                times[pid, default: [:]][thread] = text?.split(separator: " ").first.flatMap { UInt64($0) } ?? 0
            }
        }
    }

    /// Returns the CPU time of processes and their descendants between two snapshots, in seconds. Threads that ended in
    /// between do not count.
    func time(of roots: Set<Int>, since earlier: ThreadTimes) -> Double {
        var sum: UInt64 = 0
        for pid in table.family(of: roots) {
            for (thread, time) in times[pid] ?? [:] {
                let before = earlier.times[pid]?[thread] ?? 0
                if time > before { sum += time - before }
            }
        }
        return Double(sum) / 1e9
    }
}
