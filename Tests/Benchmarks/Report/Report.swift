// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A named number of a measurement.
struct Figure: Codable, Equatable, Sendable {
    var name: String
    var value: Double
    /// The unit; empty: none.
    var unit: String

    init(_ name: String, _ value: Double, _ unit: String = "") {
        self.name = name
        self.value = value
        self.unit = unit
    }
}

/// The cost of one service's processes.
struct ServiceCost: Codable, Equatable, Sendable {
    var service: String
    /// CPU time in milliseconds for 1,000 units.
    var processorTime: Double
    /// Context switches of each operation.
    var voluntary: Double
    var involuntary: Double
}

/// The result of one run of a variant.
struct RunResult: Codable, Sendable {
    var figures: [Figure]
    var services: [ServiceCost] = []
    var generator: GeneratorUsage?
    var deliveries: DeliveryCounts?
    /// The reason why the figures are invalid; nil: they are valid.
    var problem: String?
    /// The reason why some figures were refused; nil: none was.
    var note: String?

    /// Returns the value of a figure; nil if the run has none of this name.
    func value(_ name: String) -> Double? { figures.first { $0.name == name }?.value }
}

/// A comparison of a variant with a baseline of the same run.
struct Comparison: Codable, Sendable {
    /// The name of the variant's figure.
    var figure: String
    /// The name of the baseline's figure.
    var baselineFigure: String
    /// The title of the baseline variant in the same scenario.
    var baseline: String
    /// The median of the ratios of all runs; nil if no run has both.
    var ratio: Double?

    /// - Parameter baselineFigure: nil: the same as `figure`.
    init(_ figure: String, to baseline: String, baselineFigure: String? = nil) {
        self.figure = figure
        self.baselineFigure = baselineFigure ?? figure
        self.baseline = baseline
    }
}

/// All runs of one variant, and their medians.
struct VariantReport: Codable, Sendable {
    var title: String
    var runs: [RunResult]
    var medians: [Figure]
    var services: [ServiceCost]
    var comparisons: [Comparison]
    /// The reason why no figure is shown; nil if all runs are valid.
    var problem: String?
    /// The reason why some figures are not shown.
    var note: String?

    /// Computes the medians of the figures that all runs have.
    /// - Parameter comparisons: The comparisons, without ratios.
    init(title: String, runs: [RunResult], comparisons: [Comparison] = []) {
        self.title = title
        self.runs = runs
        self.comparisons = comparisons
        problem = runs.compactMap(\.problem).first
        note = runs.compactMap(\.note).first
        medians = (runs.first?.figures ?? [])
            .compactMap { figure in
                let values = runs.compactMap { $0.value(figure.name) }
                return values.count == runs.count ? Figure(figure.name, Report.median(values), figure.unit) : nil
            }
        let services = runs.flatMap(\.services).map(\.service)
        self.services = Set(services)
            .map { service in
                let costs = runs.compactMap { run in run.services.first { $0.service == service } }
                return ServiceCost(
                    service: service, processorTime: Report.median(costs.map(\.processorTime)),
                    voluntary: Report.median(costs.map(\.voluntary)),
                    involuntary: Report.median(costs.map(\.involuntary)))
            }
            .sorted { ($1.processorTime, $0.service) < ($0.processorTime, $1.service) }
    }

    /// Computes the ratios to the baselines, run by run.
    mutating func compare(with variants: [VariantReport]) {
        for index in comparisons.indices {
            let (name, otherName) = (comparisons[index].figure, comparisons[index].baselineFigure)
            guard let baseline = variants.first(where: { $0.title == comparisons[index].baseline }),
                problem == nil, baseline.problem == nil
            else { continue }
            let ratios = zip(runs, baseline.runs)
                .compactMap { run, other -> Double? in
                    guard let value = run.value(name), let reference = other.value(otherName), reference > 0 else {
                        return nil
                    }
                    return value / reference
                }
            if !ratios.isEmpty { comparisons[index].ratio = Report.median(ratios) }
        }
    }
}

/// The result of one scenario.
struct ScenarioReport: Codable, Sendable {
    var name: String
    /// The unit of ``ServiceCost/processorTime``: "1,000 deliveries", for example.
    var unit: String
    var variants: [VariantReport]

    /// - Parameters:
    ///   - name: The name of the scenario.
    ///   - unit: The unit of the services' CPU time.
    ///   - variants: The variants. Their ratios are computed here.
    init(name: String, unit: String, variants: [VariantReport]) {
        self.name = name
        self.unit = unit
        self.variants = variants
        for index in self.variants.indices { self.variants[index].compare(with: variants) }
    }

    /// The table, a line for each variant, and a second one of the services.
    var lines: [String] {
        var lines = ["", "## \(name)", ""]
        for variant in variants {
            if let problem = variant.problem {
                lines.append("- \(variant.title): no figure, because \(problem)")
                continue
            }
            let figures = variant.medians.map { figure in
                "\(figure.name) \(Report.text(figure.value))\(figure.unit.isEmpty ? "" : " \(figure.unit)")"
            }
            lines.append("- \(variant.title): \(figures.joined(separator: ", "))")
            if let note = variant.note { lines.append("  - \(note)") }
            lines += variant.comparisons.compactMap { comparison in
                comparison.ratio.map { "  - \(comparison.figure): \(Report.text($0)) × \(comparison.baseline)" }
            }
        }
        return lines + serviceTable
    }

    private var serviceTable: [String] {
        let shown = variants.filter { $0.problem == nil && !$0.services.isEmpty }
        guard !shown.isEmpty else { return [] }
        let services = Set(shown.flatMap { $0.services.map(\.service) }).sorted()
        var lines = [
            "", "CPU in ms for \(unit); switches of an operation, voluntary + involuntary", "",
            "| | \(services.joined(separator: " | ")) |", "|---|" + String(repeating: "---|", count: services.count),
        ]
        for variant in shown {
            let cells = services.map { name in
                variant.services.first { $0.service == name }
                    .map {
                        "\(Report.text($0.processorTime)); \(Report.text($0.voluntary)) + "
                            + Report.text($0.involuntary)
                    } ?? ""
            }
            lines.append("| \(variant.title) | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }
}

/// The report of all scenarios, as it is written with `--json`.
struct Report: Codable, Sendable {
    /// The format's version.
    var version = 1
    /// The version of the program.
    var strata: String
    var date: Date
    /// The number of processors of the generator's machine.
    var processors: Int
    var scenarios: [ScenarioReport] = []

    /// The problems of all variants.
    var problems: [String] {
        scenarios.flatMap { scenario in
            scenario.variants.compactMap { variant in
                variant.problem.map { "\(scenario.name), \(variant.title): \($0)" }
            }
        }
    }

    /// Returns the report as JSON. The keys are sorted, so that reports can be compared.
    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// Returns the median; 0 if there are no values.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// Returns a number with three significant digits, and separators of thousands.
    static func text(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let size = abs(value)
        if size < 100 { return String(format: size < 1 ? "%.3f" : size < 10 ? "%.2f" : "%.1f", value) }
        let digits = String(Int(size.rounded()))
        var grouped = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { grouped.append(",") }
            grouped.append(digit)
        }
        return (value < 0 ? "-" : "") + grouped
    }
}
