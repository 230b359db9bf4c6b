// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// One point of the overview's charts. A number without two samples to compare is nil.
struct SamplePoint: Encodable, Hashable, Sendable {
    let at: Date
    var messagesPerSecond: Double?
    var sockets: Int
    var p50Ms: Double?
    var p99Ms: Double?
}

/// The points of the last 15 minutes, made from the counters of consecutive readings.
struct SampleHistory: Sendable {
    static let period: TimeInterval = 15 * 60

    private(set) var points: [SamplePoint] = []
    private var last: [String: InstanceMetrics] = [:]

    /// Adds readings of all processes.
    /// - Returns: the new point.
    @discardableResult
    mutating func add(_ readings: [InstanceReading], at now: Date) -> SamplePoint {
        let answered = readings.filter { $0.failure == nil }
        var point = SamplePoint(at: now, sockets: Int(answered.reduce(0) { $0 + $1.metrics.sockets }))
        if let earlier = points.last?.at, now > earlier {
            var (messages, durations) = (0.0, [Double: Double]())
            for reading in answered {
                guard let before = last[reading.key] else { continue }
                let growth = reading.metrics.growth(since: before)
                messages += growth.messages
                durations.merge(growth.durations, uniquingKeysWith: +)
            }
            point.messagesPerSecond = messages / now.timeIntervalSince(earlier)
            point.p50Ms = Percentile.of(durations, 0.5).map { $0 * 1000 }
            point.p99Ms = Percentile.of(durations, 0.99).map { $0 * 1000 }
        }
        // A process that did not answer keeps its counters: its next answer is compared with them.
        let known = Set(readings.map(\.key))
        last = last.filter { known.contains($0.key) }
        for reading in answered { last[reading.key] = reading.metrics }
        points.removeAll { now.timeIntervalSince($0.at) > Self.period }
        points.append(point)
        return point
    }
}

extension InstanceMetrics {
    /// Returns the growth of the counters. Those of a process that has restarted since begin at zero again.
    fileprivate func growth(since before: InstanceMetrics) -> InstanceMetrics {
        let hasRestarted = startedAt != before.startedAt || messages < before.messages
        var growth = self
        guard !hasRestarted else { return growth }
        growth.messages -= before.messages
        for (bound, count) in before.durations { growth.durations[bound, default: 0] -= count }
        growth.durations = growth.durations.mapValues { max(0, $0) }
        return growth
    }
}

/// Percentiles of histograms.
enum Percentile {
    /// Returns the value below which a part of the observations is, interpolated within its bucket. Nil: there are no
    /// observations.
    /// - Parameters:
    ///   - buckets: the cumulative numbers of observations by upper bound, as Prometheus has them. One bound is
    ///     infinite.
    ///   - part: 0 to 1.
    static func of(_ buckets: [Double: Double], _ part: Double) -> Double? {
        let sorted = buckets.sorted { $0.key < $1.key }
        guard let total = sorted.last?.value, total > 0 else { return nil }
        let rank = part * total
        var (lower, below) = (0.0, 0.0)
        for (bound, count) in sorted {
            if count >= rank, count > below {
                // Beyond the greatest bound, only that is known.
                return bound.isFinite ? lower + (bound - lower) * max(0, rank - below) / (count - below) : lower
            }
            (lower, below) = (bound, count)
        }
        return lower
    }
}
