// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Bench

@Suite("reports of benchmarks")
struct ReportTests {
    private func run(_ cpu: Double, gateway: Double = 1, problem: String? = nil) -> RunResult {
        var result = RunResult(figures: [Figure("CPU", cpu, "ms")])
        result.services = [ServiceCost(service: "gateway", processorTime: gateway, voluntary: 2, involuntary: 1)]
        result.problem = problem
        return result
    }

    @Test("the figures are medians of the runs")
    func medians() {
        let variant = VariantReport(title: "chat", runs: [run(9, gateway: 3), run(1, gateway: 2), run(2, gateway: 7)])
        #expect(variant.medians == [Figure("CPU", 2, "ms")])
        #expect(variant.services.first?.processorTime == 3)
        #expect(Report.median([4, 1, 3, 2]) == 2.5)
        #expect(Report.median([]) == 0)
    }

    @Test("a ratio is the median of the ratios of each run, not the ratio of the medians")
    func ratios() {
        let chat = VariantReport(
            title: "chat", runs: [run(10), run(40), run(30)], comparisons: [Comparison("CPU", to: "broadcaster")])
        let other = VariantReport(title: "broadcaster", runs: [run(1), run(20), run(2)])
        let scenario = ScenarioReport(name: "chat", unit: "1,000 deliveries", variants: [chat, other])
        #expect(scenario.variants[0].comparisons[0].ratio == 10)
        #expect(scenario.lines.contains { $0.contains("10.0 × broadcaster") })
    }

    @Test("figures of different names can be compared")
    func otherFigure() {
        let chat = VariantReport(
            title: "chat", runs: [run(10)],
            comparisons: [Comparison("CPU", to: "pgbench", baselineFigure: "statements")])
        let other = VariantReport(title: "pgbench", runs: [RunResult(figures: [Figure("statements", 40, "/s")])])
        let scenario = ScenarioReport(name: "chat", unit: "1", variants: [chat, other])
        #expect(scenario.variants[0].comparisons[0].ratio == 0.25)
    }

    @Test("a problem of one run hides the figures and the ratios of the variant, and is reported")
    func problems() {
        let chat = VariantReport(
            title: "chat", runs: [run(10), run(11, problem: "the generator was saturated")],
            comparisons: [Comparison("CPU", to: "broadcaster")])
        let other = VariantReport(title: "broadcaster", runs: [run(1), run(1)])
        let scenario = ScenarioReport(name: "chat", unit: "1", variants: [chat, other])
        #expect(scenario.variants[0].comparisons[0].ratio == nil)
        let line = scenario.lines.first { $0.hasPrefix("- chat") }
        #expect(line == "- chat: no figure, because the generator was saturated")
        #expect(!scenario.lines.contains { $0.hasPrefix("| chat ") })
        let report = Report(strata: "1", date: .now, processors: 2, scenarios: [scenario])
        #expect(report.problems == ["chat, chat: the generator was saturated"])
    }

    @Test("a figure that a run refused is not shown; the reason and the other figures are")
    func notes() {
        var refused = run(12)
        refused.note = "no rates, because the generator was saturated"
        var complete = run(10)
        complete.figures.append(Figure("deliveries", 9, "/s"))
        let variant = VariantReport(title: "chat", runs: [complete, refused])
        #expect(variant.medians == [Figure("CPU", 11, "ms")])
        let lines = ScenarioReport(name: "chat", unit: "1", variants: [variant]).lines
        #expect(lines.contains("- chat: CPU 11.0 ms"))
        #expect(lines.contains("  - no rates, because the generator was saturated"))
    }

    @Test("the services are a table")
    func services() {
        let variant = VariantReport(title: "chat", runs: [run(10, gateway: 53.26)])
        let lines = ScenarioReport(name: "chat", unit: "1,000 deliveries", variants: [variant]).lines
        #expect(lines.contains("| | gateway |"))
        #expect(lines.contains("| chat | 53.3; 2.00 + 1.00 |"))
    }

    @Test("JSON has all runs and is read back")
    func json() throws {
        var result = run(10)
        result.generator = GeneratorUsage(
            seconds: 1, processorTime: 0.5, loops: [LoopUsage(processorTime: 0.4, waiting: 0, lag: nil)])
        result.deliveries = DeliveryCounts(expected: 5, delivered: 5)
        let scenario = ScenarioReport(
            name: "chat", unit: "1", variants: [VariantReport(title: "chat", runs: [result, run(12)])])
        let report = Report(
            strata: "0.1.0", date: Date(timeIntervalSince1970: 1_800_000_000), processors: 2, scenarios: [scenario])
        let data = try report.json()
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let copy = try decoder.decode(Report.self, from: data)
        #expect(copy.version == 1)
        #expect(copy.scenarios[0].variants[0].runs.map { $0.value("CPU") } == [10, 12])
        #expect(copy.scenarios[0].variants[0].runs[0].deliveries?.expected == 5)
        #expect(String(decoding: data, as: UTF8.self).contains("\"medians\""))
    }

    @Test(
        "numbers have three digits, and separators of thousands",
        arguments: [
            (0, "0.000"), (0.1234, "0.123"), (1.2345, "1.23"), (52.34, "52.3"), (123.4, "123"), (1234.5, "1,235"),
            (1_234_567, "1,234,567"), (-1500, "-1,500"), (.infinity, "–"),
        ] as [(Double, String)])
    func texts(value: Double, text: String) {
        #expect(Report.text(value) == text)
    }
}
