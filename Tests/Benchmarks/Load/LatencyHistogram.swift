// SPDX-License-Identifier: Apache-2.0
import Histogram

/// An HdrHistogram of durations from 1 µs to 120 s with three significant digits.
struct LatencyHistogram: Sendable {
    private static let lowest: UInt64 = 1000
    private static let highest: UInt64 = 120_000_000_000
    private static let nanosecondsPerMillisecond = 1e6

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: Self.lowest, highestTrackableValue: Self.highest, numberOfSignificantValueDigits: .three
    )

    /// The number of recorded durations.
    var count: Int { Int(histogram.totalCount) }

    /// Records a duration. Longer ones than 120 s count as 120 s.
    mutating func record(nanoseconds: UInt64) { histogram.record(min(nanoseconds, Self.highest)) }

    /// Adds the durations of another histogram.
    mutating func merge(_ other: LatencyHistogram) { histogram.add(other.histogram) }

    /// Returns a percentile in milliseconds; 0 if nothing was recorded.
    /// - Parameter percentile: 0 to 100.
    func percentile(_ percentile: Double) -> Double {
        count == 0 ? 0 : Double(histogram.valueAtPercentile(percentile)) / Self.nanosecondsPerMillisecond
    }

    /// The percentiles; nil if nothing was recorded.
    var summary: LatencySummary? {
        guard count > 0 else { return nil }
        return LatencySummary(
            count: count, p50: percentile(50), p90: percentile(90), p99: percentile(99), p999: percentile(99.9),
            max: Double(histogram.max) / Self.nanosecondsPerMillisecond)
    }
}

/// The percentiles of a ``LatencyHistogram``, in milliseconds.
struct LatencySummary: Codable, Equatable, Sendable {
    var count: Int
    var p50: Double
    var p90: Double
    var p99: Double
    var p999: Double
    var max: Double
}
