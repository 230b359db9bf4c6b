// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// Connections that are opened, become live and end, in a closed loop.
enum ConnectScenario {
    private static let workers = 16
    private static let users = 200

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try await context.withTarget { target in
            try await context.withBroadcaster { broadcaster in
                try await target.signIn(users: users)
                var variants = [
                    ScenarioVariant(
                        title: "socket accepted, signed in, live",
                        comparisons: [Comparison(FigureName.operationTime, to: "broadcaster")]
                    ) { try await measure(target, first: LoadSocket.counterRequest, context) }
                ]
                if let broadcaster {
                    variants.append(
                        ScenarioVariant(title: "broadcaster") {
                            try await measure(broadcaster, first: "x", context)
                        })
                }
                return ScenarioReport(
                    name: "connect", unit: "1,000 connections",
                    variants: try await ScenarioVariant.interleave(variants, runs: context.settings.runs))
            }
        }
    }

    private static func measure(
        _ server: any LoadedServer, first: String, _ context: ScenarioContext
    ) async throws -> RunResult {
        let before = server.account()
        let account = try await context.loops.begin()
        let end = ContinuousClock.now + .seconds(context.settings.seconds)
        let histograms = try await withThrowingTaskGroup(of: LatencyHistogram.self) { tasks in
            for worker in 0..<workers {
                tasks.addTask {
                    var histogram = LatencyHistogram()
                    var number = worker
                    while ContinuousClock.now < end {
                        let start = LoadLoop.now
                        let address = server.addresses[number % server.addresses.count]
                        let path = server.path(ofUser: number % users, room: "c\(number)", includesSender: true)
                        let socket = try await LoadSocket.open(
                            address, path: path, saying: first, on: context.loops.group)
                        try await socket.awaitLive()
                        histogram.record(nanoseconds: LoadLoop.now - start)
                        socket.close()
                        number += workers
                    }
                    return histogram
                }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        let usage = try await context.loops.end(account)
        let cost = server.account().flatMap { after in before.map { after - $0 } }
        var all = LatencyHistogram()
        for histogram in histograms { all.merge(histogram) }
        return result(all, usage, cost, context.settings.bounds)
    }

    private static func result(
        _ latencies: LatencyHistogram, _ usage: GeneratorUsage, _ cost: ProcessAccount?, _ bounds: SaturationBounds
    ) -> RunResult {
        let count = max(1, latencies.count)
        let saturation = bounds.problem(usage, isFixedRate: false)
        var result = RunResult(figures: [])
        if saturation == nil {
            result.figures.append(Figure("connections", Double(count) / max(0.001, usage.seconds), "/s"))
        }
        if let cost {
            result.services = cost.costs(units: count, operations: count)
            result.figures.append(
                Figure(FigureName.operationTime, cost.processorTime / Double(count) * 1e3, "ms"))
        }
        if saturation == nil { result.figures += RunResult.latencies(latencies.summary, "") }
        result.figures += RunResult.own(usage)
        result.generator = usage
        result.refuse(saturation, isFixedRate: false)
        return result
    }
}
