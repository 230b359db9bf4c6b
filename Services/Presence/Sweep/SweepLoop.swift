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

/// The next sweep time of each shard, so that sweeps of idle shards cost almost nothing.
///
/// A sweep that finds nothing due returns the time of the next deadline. A later event sets its deadline at least the
/// shortest period ahead, so the shard can rest until then. Only half of that period is used, because another instance
/// may have shorter periods and therefore earlier deadlines.
struct SweepSchedule: Sendable {
    private var nextSweep: [ContinuousClock.Instant?]
    private let longestRest: Duration

    /// - Parameter shortestPeriod: the minimum time between an event and its deadline.
    init(shards: Int, shortestPeriod: Duration) {
        nextSweep = Array(repeating: nil, count: shards)
        longestRest = shortestPeriod / 2
    }

    func due(at now: ContinuousClock.Instant) -> [Int] {
        nextSweep.indices.filter { shard in nextSweep[shard].map { $0 <= now } ?? true }
    }

    /// The earliest next sweep time; nil if a shard is to be swept at once. May be in the past.
    var next: ContinuousClock.Instant? { nextSweep.contains(nil) ? nil : nextSweep.lazy.compactMap(\.self).min() }

    /// Records a sweep that began at `now` and found nothing due. `next` is the time until the next deadline, or nil if
    /// there is none.
    mutating func foundNothing(at shard: Int, now: ContinuousClock.Instant, next: Duration?) {
        nextSweep[shard] = now + min(next ?? longestRest, longestRest)
    }

    /// Records a sweep that found due entries or failed. The shard is swept again next time.
    mutating func foundWork(at shard: Int) { nextSweep[shard] = nil }
}

/// The result of sweeping one shard.
enum SweepFinding: Sendable, Equatable {
    /// Nothing is due. `next`: the time until the next deadline, or nil if there is none.
    case nothing(next: Duration?)
    /// Due entries were ended. `lateness`: that of the most overdue entry. `isBatchFull`: true if more entries may be
    /// due.
    case work(lateness: Duration, isBatchFull: Bool = false)
    /// Redis did not answer, or some due entries could not be ended.
    case failed
}
