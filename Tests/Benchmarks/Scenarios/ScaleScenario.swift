// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Chat with 1 to 3 gateways, and with 1 or 2 of each service.
enum ScaleScenario {
    private static let deliveries = 5000.0
    private static let services = ["conversations", "metadata", "presence", "webhooks"]

    /// The number of gateways and of each service.
    private struct Topology {
        let gateways: Int
        let services: Int

        var title: String { "\(gateways) \(gateways == 1 ? "gateway" : "gateways"), \(services) of each service" }
        var instances: [String: Int] {
            Dictionary(uniqueKeysWithValues: ScaleScenario.services.map { ($0, services) })
                .merging(["gateways": gateways]) { $1 }
        }
    }

    private static let topologies = [
        Topology(gateways: 1, services: 1), Topology(gateways: 2, services: 1), Topology(gateways: 3, services: 1),
        Topology(gateways: 1, services: 2), Topology(gateways: 2, services: 2), Topology(gateways: 3, services: 2),
    ]

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try context.requireLocal("scale")
        let first = topologies[0].title
        // Each run starts the systems in turns. They cannot run at the same time, because even at rest they would
        // disturb each other.
        let variants = topologies.flatMap { topology in
            [false, true].filter { !$0 || topology.gateways > 1 }
                .map { isSpread in
                    ScenarioVariant(
                        title: topology.title + (isSpread ? ", conversations on all gateways" : ""),
                        comparisons: topology.title == first && !isSpread
                            ? [] : [Comparison(FigureName.operationTime, to: first)]
                    ) { try await measure(topology, isSpread: isSpread, context) }
                }
        }
        let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
        return ScenarioReport(
            name: "chat at \(Report.text(deliveries)) deliveries/s by instances", unit: "1,000 deliveries",
            variants: reports)
    }

    private static func measure(
        _ topology: Topology, isSpread: Bool, _ context: ScenarioContext
    ) async throws -> RunResult {
        try await context.withTarget(instances: topology.instances) { target in
            let plan = RoomPlan(
                rooms: 40, members: 5, senders: 5, bytes: context.settings.bytes, isSpread: isSpread)
            let load = try await RoomLoad.open(target, plan, .messages, on: context.loops)
            let mode = LoadMode.rate(deliveries / Double(plan.members))
            try await load.warmUp(mode, seconds: 2)
            let run = try await load.measure(mode, seconds: context.settings.seconds)
            try await load.close()
            return RunResult(run, operation: "messages", bounds: context.settings.bounds)
        }
    }
}
