// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// The delivery rate of a webhook in a whole system: first a backlog of 10,000 events of 1,000 conversations, with a
/// receiver that accepts each at once; then live messages of concurrent users.
enum WebhookBench {
    private static let events = 10_000
    private static let conversations = 1000

    static func run(group: any EventLoopGroup) async throws -> [String] {
        let system = try await BenchSystem()
        let lines: [String]
        do {
            let receiver = try await HookReceiver.start(on: group)
            do {
                lines = try await measure(system, receiver)
            } catch {
                await receiver.stop()
                throw error
            }
            await receiver.stop()
        } catch {
            try await system.stop()
            throw error
        }
        try await system.stop()
        return lines + [""] + (try await WebhookCostBench.run(group: group))
    }

    private static func measure(_ system: BenchSystem, _ receiver: HookReceiver) async throws -> [String] {
        let hook = try await system.register(receiver.url, events: ["Message.created"])
        try await system.awaitActiveWebhooks()
        var lines: [String] = []
        for round in 1...12 { lines.append(try await drain(round, hook, system, receiver)) }
        lines.append(try await live(system, receiver))
        return lines
    }

    /// Records a backlog of events for the hook, and waits until it is delivered.
    private static func drain(
        _ round: Int, _ hook: String, _ system: BenchSystem, _ receiver: HookReceiver
    ) async throws -> String {
        let (before, memory) = (system.processorTimes(), system.residentMemory["webhooks"] ?? 0)
        let goal = receiver.count + events
        let begun = ContinuousClock.now
        try await system.record(events, for: hook, conversations: conversations)
        try await wait(for: goal, receiver)
        let took = (ContinuousClock.now - begun) / .seconds(1)
        let used = system.processorTimes().merging(before) { $0 - $1 }
        let cost = (used["webhooks"] ?? 0) / Double(events) * 1e6
        return String(
            format:
                "webhooks, owed, round %d: %d deliveries in %.2f s, %.0f/s, %.0f µs of CPU each in webhooks, memory %.1f -> %.1f MB",
            round,
            events, took,
            Double(events) / took, cost, Double(memory) / 1e6, Double(system.residentMemory["webhooks"] ?? 0) / 1e6)
    }

    /// Sends messages from 32 concurrent users at the maximum rate, and waits until the hook has received them.
    private static func live(_ system: BenchSystem, _ receiver: HookReceiver) async throws -> String {
        let (users, each) = (32, 50)
        try await system.signIn(users: users)
        var rooms: [String] = []
        for user in 0..<users { rooms.append(try await system.conversation(of: [user, (user + 1) % users], as: user)) }
        let goal = receiver.count + users * each
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (user, room) in rooms.enumerated() {
                group.addTask {
                    for _ in 0..<each {
                        try await system.post(
                            "/conversations/\(room)/messages", as: user,
                            "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
                    }
                }
            }
            try await group.waitForAll()
        }
        let sent = (ContinuousClock.now - begun) / .seconds(1)
        try await wait(for: goal, receiver)
        let told = (ContinuousClock.now - begun) / .seconds(1)
        return String(
            format: "webhooks, live: %d messages sent in %.2f s (%.0f/s), the last one told %.0f ms later",
            users * each, sent,
            Double(users * each) / sent,
            (told - sent) * 1000)
    }

    private static func wait(for goal: Int, _ receiver: HookReceiver) async throws {
        guard try await receiver.reaches(goal, within: .seconds(120)) else {
            throw BenchProblem("only \(receiver.count) of \(goal) events have come")
        }
    }
}
