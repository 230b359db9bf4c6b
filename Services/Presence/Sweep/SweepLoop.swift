// SPDX-License-Identifier: Apache-2.0

import Logging
import Metrics
import ServiceLifecycle

/// Something that has deadlines on shards.
protocol Sweepable: Sendable {
    /// What its deadlines are of, for logs.
    var name: String { get }
    /// What the names of its metrics begin with.
    var metricPrefix: String { get }
    /// Ends what is due on `shards`. Answers in their order.
    func sweep(_ shards: [Int]) async -> [SweepFinding]
}

/// Again and again, sweeps the shards in which something may be due. Every instance does: one script takes what is due and announces it, so it is announced once whichever
/// instance comes first, and no instance has to be elected.
struct SweepLoop<Target: Sweepable>: Service {
    private let target: Target
    private let every: Duration
    private let shortestPeriod: Duration
    private let shards: Int
    private let logger: Logger
    private let looks: Counter
    private let failures: Counter
    private let lateness: Timer

    init(_ target: Target, every: Duration, shortestPeriod: Duration, shards: Int, logger: Logger) {
        self.target = target
        self.every = every
        self.shortestPeriod = shortestPeriod
        self.shards = shards
        self.logger = logger
        looks = Counter(label: "\(target.metricPrefix)_sweeps_total")
        failures = Counter(label: "\(target.metricPrefix)_sweep_failures_total")
        lateness = Timer(label: "\(target.metricPrefix)_sweep_lateness_seconds")
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var schedule = SweepSchedule(shards: shards, shortestPeriod: shortestPeriod)
            var isFailing = false
            while !Task.isCancelled {
                let outcome = await look(&schedule)
                let hasFailed = outcome == .failed
                if hasFailed != isFailing, !Task.isCancelled {
                    isFailing = hasFailed
                    logger.log(
                        level: hasFailed ? .warning : .notice, "\(hasFailed ? "sweeping has stopped" : "sweeping goes on")",
                        metadata: ["sweep.name": "\(target.name)"])
                }
                // One look takes a batch. After the end of a gateway with a hundred thousand sockets there are many, and each must be told in time.
                if outcome == .mayHaveMore { continue }
                // Random, so that instances that started together drift apart.
                let pause = every * Double.random(in: 0.75...1.25)
                try? await Task.sleep(until: max(.now + pause, (schedule.next ?? .now) + pause / 4))
            }
        }
    }

    private enum Outcome { case done, mayHaveMore, failed }

    /// What the shards came to together: a failure of one of them counts first.
    private func look(_ schedule: inout SweepSchedule) async -> Outcome {
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
        looks.increment(by: due.count)
        return outcome
    }
}
