// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The cost of a delivery against participants, rate, history, connections and the size of the metadata, with plots.
enum CurveScenario {
    /// Deliveries per second where the rate is not the variable.
    private static let rate = 2000.0

    /// Measures all curves and writes their plots.
    /// - Parameter folder: The folder of the SVG files; it is created if it does not exist.
    static func run(_ context: ScenarioContext, plots folder: String) async throws -> [ScenarioReport] {
        try context.requireLocal("curves")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var reports: [ScenarioReport] = []
        for measure in [participants, rates, history, connections, trees] {
            let curve = try await measure(context)
            reports.append(curve.report)
            if let plot = curve.plot {
                try plot.svg.write(toFile: "\(folder)/\(curve.file).svg", atomically: true, encoding: .utf8)
            } else {
                Progress.print("no plot of \(curve.file): \(curve.report.variants.compactMap(\.problem).first ?? "")")
            }
        }
        return reports
    }

    /// A scenario whose variants are the points of a curve.
    struct Curve {
        var file: String
        var xLabel: String
        /// The values of x, in the order of the variants.
        var values: [Double]
        var report: ScenarioReport

        /// The plot; nil if a point is invalid or has no costs.
        var plot: LinePlot? {
            guard report.variants.allSatisfy({ $0.problem == nil && !$0.services.isEmpty }) else { return nil }
            let points = Array(zip(values, report.variants))
            let services = Set(report.variants.flatMap { $0.services.map(\.service) })
            let total = LinePlot.Series(
                name: "all processes",
                points: points.map { x, variant in (x, variant.services.reduce(0) { $0 + $1.processorTime }) })
            let others = services.map { service in
                LinePlot.Series(
                    name: service,
                    points: points.map { x, variant in
                        (x, variant.services.first { $0.service == service }?.processorTime ?? 0)
                    })
            }
            return LinePlot(
                title: report.name, xLabel: xLabel, yLabel: "CPU in ms for \(report.unit)",
                isLogarithmic: (values.min() ?? 0) > 0,
                series: [total] + others.sorted { ($1.highest, $0.name) < ($0.highest, $1.name) })
        }
    }

    // MARK: Curves

    private static func participants(_ context: ScenarioContext) async throws -> Curve {
        let sizes = [2, 5, 25, 100, 250]
        return try await context.withTarget { target in
            var loads: [RoomLoad] = []
            for size in sizes {
                let rooms = max(1, 200 / size)
                let plan = RoomPlan(
                    rooms: rooms, members: size, senders: size, bytes: context.settings.bytes,
                    firstUser: loads.reduce(0) { $0 + $1.plan.users })
                loads.append(try await RoomLoad.open(target, plan, .messages, on: context.loops))
            }
            let variants = zip(sizes, loads)
                .map { size, load in
                    variant("\(size) participants", load, .rate(rate / Double(size)), context)
                }
            let report = try await interleave(variants, "chat by participants of a conversation", context)
            for load in loads { try await load.close() }
            return Curve(file: "participants", xLabel: "participants", values: sizes.map(Double.init), report: report)
        }
    }

    private static func rates(_ context: ScenarioContext) async throws -> Curve {
        let rates = [250.0, 1000, 2500, 5000, 10_000, 20_000]
        return try await context.withTarget { target in
            let plan = RoomScenario.chat(context.settings).plan
            let load = try await RoomLoad.open(target, plan, .messages, on: context.loops)
            let variants = rates.map { rate in
                variant("\(Report.text(rate)) deliveries/s", load, .rate(rate / Double(plan.members)), context)
            }
            let report = try await interleave(variants, "chat by rate", context)
            try await load.close()
            return Curve(file: "rate", xLabel: "deliveries per second", values: rates, report: report)
        }
    }

    private static func history(_ context: ScenarioContext) async throws -> Curve {
        let sizes = [1, 1000, 10_000, 100_000]
        return try await context.withTarget { target in
            var loads: [RoomLoad] = []
            for (number, size) in sizes.enumerated() {
                let plan = RoomPlan(
                    rooms: 2, members: 5, senders: 5, bytes: context.settings.bytes, firstUser: number * 10)
                let load = try await RoomLoad.open(target, plan, .messages, on: context.loops)
                Progress.print("writing \(size) messages to each of \(plan.rooms) conversations")
                var written = 0
                while written < size * plan.rooms {
                    let seconds = min(5, Double(size * plan.rooms - written) / rate)
                    let run = try await load.measure(.closed(window: 8), seconds: seconds)
                    if let problem = run.problem { throw BenchProblem("the history was not written: \(problem)") }
                    written += run.operations
                }
                loads.append(load)
            }
            let variants = zip(sizes, loads)
                .map { size, load in
                    variant("\(Report.text(Double(size))) messages", load, .rate(rate / 5), context)
                }
            let report = try await interleave(variants, "chat by messages in the conversation", context)
            for load in loads { try await load.close() }
            return Curve(file: "history", xLabel: "messages before", values: sizes.map(Double.init), report: report)
        }
    }

    private static func connections(_ context: ScenarioContext) async throws -> Curve {
        let counts = [0, 1000, 2500, 5000, 10_000]
        return try await context.withTarget { target in
            let plan = RoomScenario.chat(context.settings).plan
            try await target.signIn(users: plan.users + (counts.max() ?? 0))
            let load = try await RoomLoad.open(target, plan, .messages, on: context.loops)
            let idle = IdleConnections(target, firstUser: plan.users, context.loops)
            let variants = counts.map { count in
                ScenarioVariant(title: "\(Report.text(Double(count))) idle connections") {
                    try await idle.adjust(to: count)
                    return try await measure(load, .rate(rate / Double(plan.members)), context)
                }
            }
            let report = try await interleave(variants, "chat beside idle connections", context)
            try await idle.adjust(to: 0)
            try await load.close()
            let values = counts.map { Double($0 + plan.users) }
            return Curve(file: "connections", xLabel: "connections", values: values, report: report)
        }
    }

    private static func trees(_ context: ScenarioContext) async throws -> Curve {
        let report = try await TreeScenario.run(context)
        return Curve(
            file: "trees", xLabel: "leaves of the metadata", values: TreeScenario.sizes.map(Double.init), report: report
        )
    }

    // MARK: Measurements

    private static func variant(
        _ title: String, _ load: RoomLoad, _ mode: LoadMode, _ context: ScenarioContext
    ) -> ScenarioVariant {
        ScenarioVariant(title: title) { try await measure(load, mode, context) }
    }

    private static func measure(
        _ load: RoomLoad, _ mode: LoadMode, _ context: ScenarioContext
    ) async throws -> RunResult {
        try await load.warmUp(mode)
        let run = try await load.measure(mode, seconds: context.settings.seconds)
        return RunResult(run, operation: "messages", bounds: context.settings.bounds)
    }

    private static func interleave(
        _ variants: [ScenarioVariant], _ name: String, _ context: ScenarioContext
    ) async throws -> ScenarioReport {
        ScenarioReport(
            name: name, unit: "1,000 deliveries",
            variants: try await ScenarioVariant.interleave(variants, runs: context.settings.runs))
    }
}

extension LinePlot.Series {
    /// The highest value of y.
    fileprivate var highest: Double { points.map(\.y).max() ?? 0 }
}
