// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Bench

@Suite("histograms of latencies")
struct LatencyHistogramTests {
    @Test("percentiles are in milliseconds, with three significant digits")
    func percentiles() throws {
        var histogram = LatencyHistogram()
        for number in 1...1000 { histogram.record(nanoseconds: UInt64(number) * 1_000_000) }
        let summary = try #require(histogram.summary)
        #expect(summary.count == 1000)
        #expect(abs(summary.p50 - 500) <= 1)
        #expect(abs(summary.p90 - 900) <= 1)
        #expect(abs(summary.p99 - 990) <= 1)
        #expect(abs(summary.p999 - 999) <= 1)
        #expect(abs(summary.max - 1000) <= 1)
    }

    @Test("histograms of several loops are merged")
    func merges() {
        var (first, second) = (LatencyHistogram(), LatencyHistogram())
        for _ in 0..<99 { first.record(nanoseconds: 1_000_000) }
        second.record(nanoseconds: 1_000_000_000)
        first.merge(second)
        #expect(first.count == 100)
        #expect(abs(first.percentile(50) - 1) < 0.01)
        #expect(abs(first.percentile(100) - 1000) <= 1)
    }

    @Test("an empty histogram has no summary")
    func empty() {
        #expect(LatencyHistogram().summary == nil)
        #expect(LatencyHistogram().percentile(99) == 0)
    }

    @Test("durations beyond the range count as its ends")
    func range() {
        var histogram = LatencyHistogram()
        histogram.record(nanoseconds: 0)
        histogram.record(nanoseconds: .max)
        #expect(histogram.count == 2)
        #expect(abs(histogram.percentile(100) - 120_000) < 120)
    }
}
