// SPDX-License-Identifier: Apache-2.0

/// When each shard has to be looked at again: what makes an idle sweep cost next to nothing.
///
/// A look that finds nothing due learns when something will be. Nothing that happens after it can be due earlier than the shortest period there is,
/// so the shard is left alone until then. Half of that period is used: an instance whose periods are set longer than those of another one must not sleep through
/// the other one's deadlines.
struct SweepSchedule: Sendable {
    private var nextLook: [ContinuousClock.Instant?]
    private let longestRest: Duration

    /// - Parameter shortestPeriod: no deadline is ever set nearer than this.
    init(shards: Int, shortestPeriod: Duration) {
        nextLook = Array(repeating: nil, count: shards)
        longestRest = shortestPeriod / 2
    }

    func due(at now: ContinuousClock.Instant) -> [Int] {
        nextLook.indices.filter { shard in nextLook[shard].map { $0 <= now } ?? true }
    }

    /// The earliest time at which a shard is due; nil if one is due already.
    var next: ContinuousClock.Instant? { nextLook.contains(nil) ? nil : nextLook.lazy.compactMap(\.self).min() }

    /// A look that began at `now` found nothing due; `next` is the time until something will be, nil if there is nothing.
    mutating func foundNothing(at shard: Int, now: ContinuousClock.Instant, next: Duration?) {
        nextLook[shard] = now + min(next ?? longestRest, longestRest)
    }

    /// Something was due, or the look failed: look again next time.
    mutating func foundWork(at shard: Int) { nextLook[shard] = nil }
}
