// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1

/// The cost of a write for apps with 0, 1, 3 and 20 webhooks. The apps share one system and are measured in rotation.
///
/// First the receivers accept each event, and the cost includes all deliveries. Then the receivers never answer, and
/// the cost is that of recording events.
enum WebhookCostBench {
    private static let webhooks = [0, 1, 3, 20]
    /// The number of users that write concurrently, each to its own conversation, and the number of writes per user in
    /// one turn.
    private static let users = 8, writes = 25
    private static let rounds = (delivered: 3, recorded: 10)
    private static let treeBytes = 1_000_000

    private enum Kind: String, CaseIterable {
        case small = "set a key, no other metadata"
        case large = "set a key, metadata of 1 MB"
        case message = "send a message"
    }

    private struct App: Sendable {
        let system: BenchSystem
        let receiver: HookReceiver
        let webhooks: Int
        /// The conversations of the users, without and with a large metadata tree.
        var small: [String] = []
        var large: [String] = []
    }

    /// The total cost of all turns of an app.
    private struct Cost {
        var writes = 0
        var seconds: [Double] = []
        /// The CPU time in seconds, by service.
        var processorTime: [String: Double] = [:]

        /// Returns the CPU time in microseconds per write, of all services or of one.
        func perWrite(_ service: String? = nil) -> Double {
            let used = service.map { processorTime[$0] ?? 0 } ?? processorTime.values.reduce(0, +)
            return used / Double(max(1, writes)) * 1e6
        }

        var median: Double { seconds.isEmpty ? 0 : seconds.sorted()[seconds.count / 2] }
    }

    static func run(group: any EventLoopGroup) async throws -> [String] {
        let system = try await BenchSystem()
        do {
            var apps: [App] = []
            for count in webhooks { apps.append(try await prepare(count, system, group)) }
            // The webhooks are registered last, so that they receive no events of the preparation.
            for app in apps {
                for _ in 0..<app.webhooks {
                    _ = try await app.system.register(
                        app.receiver.url, events: ["Conversation.updated", "Message.created"])
                }
            }
            for app in apps { try await app.system.awaitActiveWebhooks() }
            let delivered = try await measure(apps, rounds: rounds.delivered, isDelivered: true)
            for app in apps { app.receiver.set(.neverAnswer) }
            let recorded = try await measure(apps, rounds: rounds.recorded, isDelivered: false)
            for app in apps { await app.receiver.stop() }
            try await system.stop()
            return lines(recorded, delivered)
        } catch {
            try await system.stop()
            throw error
        }
    }

    private static func prepare(_ count: Int, _ system: BenchSystem, _ group: any EventLoopGroup) async throws -> App {
        let tenant = try await system.tenant("webhooks-\(count)")
        var app = App(system: tenant, receiver: try await HookReceiver.start(on: group), webhooks: count)
        try await tenant.signIn(users: users + 1)
        for user in 0..<users {
            app.small.append(try await tenant.conversation(of: [user, users], as: user))
            let large = try await tenant.conversation(of: [user, users], as: user)
            let (branches, leaf) = (2, String(repeating: "x", count: 2000))
            for branch in 0..<branches {
                let leaves = (0..<treeBytes / branches / leaf.utf8.count).map { "\"k\($0)\":\"\(leaf)\"" }
                    .joined(separator: ",")
                try await tenant.patch(
                    large, as: user,
                    "{\"operation\":\"set\",\"property\":\"metadata.b\(branch)\",\"value\":{\(leaves)}}")
            }
            app.large.append(large)
        }
        return app
    }

    private static func measure(_ apps: [App], rounds: Int, isDelivered: Bool) async throws -> [Kind: [Int: Cost]] {
        var costs: [Kind: [Int: Cost]] = [:]
        for round in 0..<rounds {
            for kind in Kind.allCases {
                // Begin each round with a different app.
                for app in (0..<apps.count).map({ apps[($0 + round) % apps.count] }) {
                    let (before, told) = (app.system.processorTimes(), app.receiver.count)
                    let seconds = try await turn(kind, app)
                    let goal = told + seconds.count * app.webhooks
                    if isDelivered, try await !app.receiver.reaches(goal, within: .seconds(120)) {
                        throw BenchProblem("only \(app.receiver.count) of \(goal) events have come")
                    }
                    let used = app.system.processorTimes().merging(before) { $0 - $1 }
                    costs[kind, default: [:]][app.webhooks, default: Cost()].seconds += seconds
                    costs[kind, default: [:]][app.webhooks, default: Cost()].writes += seconds.count
                    costs[kind, default: [:]][app.webhooks, default: Cost()].processorTime.merge(used) { $0 + $1 }
                }
            }
        }
        return costs
    }

    /// Returns the duration of each write in seconds.
    private static func turn(_ kind: Kind, _ app: App) async throws -> [Double] {
        try await withThrowingTaskGroup(of: [Double].self) { tasks in
            for user in 0..<users {
                tasks.addTask {
                    var seconds: [Double] = []
                    for _ in 0..<writes {
                        let begun = ContinuousClock.now
                        switch kind {
                        case .small, .large:
                            let change =
                                "{\"operation\":\"set\",\"property\":\"metadata.hot\",\"value\":\"\(UUID().uuidString)\"}"
                            try await app.system.patch((kind == .small ? app.small : app.large)[user], as: user, change)
                        case .message:
                            try await app.system.post(
                                "/conversations/\(app.small[user])/messages", as: user,
                                "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
                        }
                        seconds.append((ContinuousClock.now - begun) / .seconds(1))
                    }
                    return seconds
                }
            }
            return try await tasks.reduce(into: []) { $0 += $1 }
        }
    }

    private static func lines(_ recorded: [Kind: [Int: Cost]], _ delivered: [Kind: [Int: Cost]]) -> [String] {
        var lines = [
            "The cost of a write by the number of the app's webhooks: µs of processor time of all services, with receivers that never answer and with deliveries.",
            "",
            "| Write | Webhooks | p50, ms | CPU | of PostgreSQL | Ratio to none | CPU with deliveries | Ratio to none |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for kind in Kind.allCases {
            for count in webhooks {
                guard let cost = recorded[kind]?[count], let none = recorded[kind]?[0],
                    let whole = delivered[kind]?[count],
                    let wholeOfNone = delivered[kind]?[0]
                else { continue }
                let figures = String(
                    format: "%.1f | %.0f | %.0f | %.2f × | %.0f | %.2f ×", cost.median * 1000, cost.perWrite(),
                    cost.perWrite("postgres"),
                    cost.perWrite() / max(none.perWrite(), 1), whole.perWrite(),
                    whole.perWrite() / max(wholeOfNone.perWrite(), 1))
                lines.append("| \(kind.rawValue) | \(count) | \(figures) |")
            }
        }
        return lines
    }
}

extension BenchSystem {
    fileprivate func patch(_ conversation: String, as user: Int, _ operation: String) async throws {
        let status = try await call(.PATCH, "/conversations/\(conversation)", as: user, "[\(operation)]", by: client)
        guard status < 300 else { throw BenchProblem("a patch was answered with \(status)") }
    }
}
