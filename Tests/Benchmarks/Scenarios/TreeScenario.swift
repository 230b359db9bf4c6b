// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// Patches of one key in trees of 10 to 10,000 leaves. The cost must not depend on the size.
enum TreeScenario {
    static let sizes = [10, 100, 1000, 10_000]
    private static let rooms = 8
    private static let members = 5
    /// Patches per second.
    private static let rate = 200.0
    /// The number of leaves that one request sets, so that its body is less than 1 MB.
    private static let leavesOfRequest = 2000

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try await context.withTarget { target in
            var loads: [(size: Int, load: RoomLoad)] = []
            for (number, size) in sizes.enumerated() {
                let plan = RoomPlan(
                    rooms: rooms, members: members, senders: members, firstUser: number * rooms * members)
                let load = try await RoomLoad.open(target, plan, .metadata, on: context.loops)
                for room in 0..<rooms { try await fill(load.conversations[room], size, plan.user(0, of: room), target) }
                loads.append((size, load))
            }
            let smallest = title(sizes[0])
            let variants = loads.map { size, load in
                ScenarioVariant(
                    title: title(size),
                    comparisons: size == sizes[0] ? [] : [Comparison(FigureName.operationTime, to: smallest)]
                ) {
                    let run = try await load.measure(.rate(rate), seconds: context.settings.seconds)
                    return RunResult(run, operation: "patches", bounds: context.settings.bounds)
                }
            }
            let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
            for (_, load) in loads { try await load.close() }
            return ScenarioReport(name: "metadata by size of the tree", unit: "1,000 deliveries", variants: reports)
        }
    }

    static func title(_ size: Int) -> String { "\(Report.text(Double(size))) leaves" }

    /// Sets all leaves but the one that the load sets.
    private static func fill(_ conversation: String, _ size: Int, _ user: Int, _ target: LoadTarget) async throws {
        for start in stride(from: 1, to: size, by: leavesOfRequest) {
            let leaves = (start..<min(start + leavesOfRequest, size))
                .map { ("leaf\($0)", JSONValue.string("value \($0)")) }
            let operation: JSONValue = [
                "operation": "set", "property": .string("metadata.tree\(start)"),
                "value": .object(Dictionary(uniqueKeysWithValues: leaves)),
            ]
            try await target.call("PATCH", "/conversations/\(conversation)", as: user, body: .array([operation]))
        }
    }
}
