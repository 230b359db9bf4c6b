// SPDX-License-Identifier: Apache-2.0

import Logging
import Metrics
import ServiceLifecycle

/// A store with deadlines on shards.
protocol Sweepable: Sendable {
    /// The name of the store in logs.
    var name: String { get }
    /// The prefix of the store's metric names.
    var metricPrefix: String { get }
    /// Ends due entries on `shards`. Returns the findings in the order of the shards.
    func sweep(_ shards: [Int]) async -> [SweepFinding]
}

/// A service that periodically sweeps the shards in which entries may be due. Every instance runs it. One script takes
/// due entries and announces them, so each is announced once, by the first instance that finds it. No leader election
/// is needed.
struct SweepLoop<Target: Sweepable>: Service {
    private let target: Target
    private let every: Duration
    private let shortestPeriod: Duration
    private let shards: Int
    private let logger: Logger
    private let sweeps: Counter
    private let failures: Counter
    private let lateness: Timer

    init(_ target: Target, every: Duration, shortestPeriod: Duration, shards: Int, logger: Logger) {
        self.target = target
        self.every = every
        self.shortestPeriod = shortestPeriod
        self.shards = shards
        self.logger = logger
        sweeps = Counter(label: "\(target.metricPrefix)_sweeps_total")
        failures = Counter(label: "\(target.metricPrefix)_sweep_failures_total")
        lateness = Timer(label: "\(target.metricPrefix)_sweep_lateness_seconds")
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var schedule = SweepSchedule(shards: shards, shortestPeriod: shortestPeriod)
            var isFailing = false
            while !Task.isCancelled {
                let outcome = await check(&schedule)
                let hasFailed = outcome == .failed
                if hasFailed != isFailing, !Task.isCancelled {
                    isFailing = hasFailed
                    logger.log(
                        level: hasFailed ? .warning : .notice,
                        "\(hasFailed ? "sweep failed" : "sweep recovered")",
                        metadata: ["sweep.name": "\(target.name)"])
                }
                // A sweep takes one batch. When a gateway with a hundred thousand sockets dies, many batches are due,
                // and each must be announced in time. So continue without a pause.
                if outcome == .mayHaveMore { continue }
                // The random factor keeps instances that started together from staying in step.
                let pause = every * Double.random(in: 0.75...1.25)
                let now = ContinuousClock.now
                try? await Task.sleep(until: max(now + pause, (schedule.next ?? now) + pause / 4), clock: .continuous)
            }
        }
    }

    private enum Outcome { case done, mayHaveMore, failed }

    /// Sweeps the due shards and returns the combined outcome. A failure of one shard takes precedence.
    private func check(_ schedule: inout SweepSchedule) async -> Outcome {
        let now = ContinuousClock.now
        let due = schedule.due(at: now)
        guard !due.isEmpty else { return .done }
        var outcome = Outcome.done
        for (shard, finding) in zip(due, await target.sweep(due)) {
            switch finding {
            case .nothing(let next): schedule.foundNothing(at: shard, now: now, next: next)
            case .work(let late, let isBatchFull):
                schedule.foundWork(at: shard)
                lateness.record(duration: late)
                if isBatchFull, outcome == .done { outcome = .mayHaveMore }
            case .failed:
                schedule.foundWork(at: shard)
                failures.increment()
                outcome = .failed
            }
        }
        sweeps.increment(by: due.count)
        return outcome
    }
}
