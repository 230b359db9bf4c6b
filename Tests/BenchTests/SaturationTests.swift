// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Bench

@Suite("saturation of the generator")
struct SaturationTests {
    private func usage(share: Double, lag: Double) -> GeneratorUsage {
        let lags = LatencySummary(count: 100, p50: 0, p90: 0, p99: lag, p999: lag, max: lag)
        let idle = LoopUsage(processorTime: 0.1, waiting: 0, lag: nil)
        let busy = LoopUsage(processorTime: share * 10, waiting: 2, lag: lags)
        return GeneratorUsage(seconds: 10, processorTime: share * 10 + 0.1, loops: [idle, busy])
    }

    @Test("the busiest loop and the largest lag decide")
    func extremes() {
        let usage = usage(share: 0.7, lag: 3)
        #expect(usage.share == 0.7)
        #expect(usage.lag == 3)
    }

    @Test(
        "a figure is refused beyond a bound, and not at it",
        arguments: [
            (share: 0.1, lag: 0.1, isFixedRate: true, isRefused: false),
            (share: 0.8, lag: 5, isFixedRate: true, isRefused: false),
            (share: 0.81, lag: 0.1, isFixedRate: true, isRefused: true),
            (share: 0.81, lag: 0.1, isFixedRate: false, isRefused: true),
            (share: 0.1, lag: 5.1, isFixedRate: true, isRefused: true),
            (share: 0.1, lag: 5.1, isFixedRate: false, isRefused: false),
        ])
    func bounds(share: Double, lag: Double, isFixedRate: Bool, isRefused: Bool) {
        let problem = SaturationBounds().problem(usage(share: share, lag: lag), isFixedRate: isFixedRate)
        #expect((problem != nil) == isRefused, "\(problem ?? "")")
    }

    @Test("the reason names the value and the bound")
    func reasons() {
        let busy = SaturationBounds().problem(usage(share: 0.93, lag: 0), isFixedRate: false)
        #expect(busy?.contains("93 %") == true && busy?.contains("80 %") == true)
        let late = SaturationBounds().problem(usage(share: 0.1, lag: 7.5), isFixedRate: true)
        #expect(late?.contains("7.50 ms") == true && late?.contains("waited 20 %") == true)
    }

    @Test("other bounds can be chosen")
    func otherBounds() {
        let bounds = SaturationBounds(share: 0.5, lag: 10)
        #expect(bounds.problem(usage(share: 0.4, lag: 9), isFixedRate: true) == nil)
        #expect(bounds.problem(usage(share: 0.6, lag: 0), isFixedRate: true) != nil)
    }
}
