// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// The memory and the CPU time of connections on which nothing happens.
enum IdleScenario {
    private static let usualConnections = 10_000
    private static let conversationsOfUser = 20
    private static let membersOfConversation = 50
    /// Connections that are opened and closed first, so that pools and tables have their usual size.
    private static let warmConnections = 100
    /// Twice the interval at which services return free memory to the system.
    private static let settling = Duration.seconds(20)
    private static let bare = BaselineServer.Kind.webSocket.rawValue

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try context.requireLocal("idle")
        let connections = context.settings.connections ?? usualConnections
        let comparisons = [Comparison(FigureName.memory, to: bare)]
        // Each run has a system of its own, because memory that was used once does not return to the kernel.
        let variants = [
            ScenarioVariant(title: "in no conversation", comparisons: comparisons) {
                try await strata(connections, inConversations: false, context)
            },
            ScenarioVariant(title: "in \(conversationsOfUser) conversations", comparisons: comparisons) {
                try await strata(connections, inConversations: true, context)
            },
            ScenarioVariant(title: bare) { try await baseline(.webSocket, connections, context) },
            ScenarioVariant(title: "broadcaster") { try await baseline(.broadcaster, connections, context) },
        ]
        let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
        return ScenarioReport(
            name: "\(Report.text(Double(connections))) idle connections", unit: "1,000 s", variants: reports)
    }

    private static func strata(
        _ connections: Int, inConversations: Bool, _ context: ScenarioContext
    ) async throws -> RunResult {
        try await context.withTarget { target in
            guard let system = target.system else { throw BenchProblem("the target is remote") }
            try await target.signIn(users: connections)
            if inConversations { try await makeConversations(of: connections, target) }
            return try await measure(target, connections, LoadSocket.counterRequest, context) { system.gatewayMemory }
        }
    }

    /// Creates conversations so that each user is in 20 of them, with varying others.
    private static func makeConversations(of users: Int, _ target: LoadTarget) async throws {
        _ = try await target.concurrently(0..<users * conversationsOfUser / membersOfConversation) { room in
            let stride = (room % conversationsOfUser + 1) * 7
            let members = Set(
                (0..<membersOfConversation).map { ($0 * stride + room * membersOfConversation) % users })
            return try await target.conversation(of: members.sorted(), as: members.min() ?? 0)
        }
    }

    private static func baseline(
        _ kind: BaselineServer.Kind, _ connections: Int, _ context: ScenarioContext
    ) async throws -> RunResult {
        try await context.withBaseline(kind) { server in
            try await measure(server, connections, "x", context) { server.memory }
        }
    }

    private static func measure(
        _ server: any LoadedServer, _ connections: Int, _ first: String, _ context: ScenarioContext,
        memory: () -> Int
    ) async throws -> RunResult {
        let idle = IdleConnections(server, first: first, context.loops)
        try await idle.adjust(to: warmConnections)
        try await idle.adjust(to: 0)
        try await Task.sleep(for: .seconds(3))
        let before = memory()
        try await idle.adjust(to: connections)
        try await Task.sleep(for: settling)
        let each = Double(memory() - before) / Double(connections)
        let accountBefore = server.account()
        let start = ContinuousClock.now
        try await Task.sleep(for: .seconds(context.settings.seconds))
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let cost = server.account().flatMap { after in accountBefore.map { after - $0 } }
        let open = await idle.open
        try await idle.adjust(to: 0)
        var result = RunResult(figures: [Figure(FigureName.memory, each / 1024, "KB/connection")])
        if let cost {
            result.figures.append(Figure("processors", cost.processorTime / seconds))
            result.services = cost.costs(units: max(1, Int(seconds)), operations: max(1, Int(seconds)))
        }
        if open < connections { result.problem = "\(connections - open) of \(connections) connections were closed" }
        return result
    }
}
