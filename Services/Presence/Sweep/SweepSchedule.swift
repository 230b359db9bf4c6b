// SPDX-License-Identifier: Apache-2.0

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
