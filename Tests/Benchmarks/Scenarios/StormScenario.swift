// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import ProtocolClient
import Synchronization

/// All users reconnect at the same time and ask for the changes that they missed, beside the chat of other users.
enum StormScenario {
    private static let usualConnections = 5000
    private static let changes = 10
    private static let patience = Duration.seconds(60)
    private static let chatRate = 1000.0
    private static let quietTitle = "chat of others, quiet"

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        let rooms = (context.settings.connections ?? usualConnections) / 5
        let chatPlan = RoomPlan(rooms: 40, members: 5, senders: 5, bytes: context.settings.bytes)
        let plan = RoomPlan(rooms: rooms, members: 5, senders: 1, firstUser: chatPlan.users)
        return try await context.withTarget { target in
            let chat = try await RoomLoad.open(target, chatPlan, .messages, on: context.loops)
            let conversations = try await target.makeRooms(plan)
            let mode = LoadMode.rate(chatRate / Double(chatPlan.members))
            let variants = [
                ScenarioVariant(title: quietTitle) {
                    let run = try await chat.measure(mode, seconds: context.settings.seconds)
                    return RunResult(run, operation: "messages", bounds: context.settings.bounds)
                },
                ScenarioVariant(
                    title: "storm of \(plan.users)", comparisons: [Comparison("p99", to: quietTitle)]
                ) { try await storm(target, plan, conversations, chat, mode, context) },
            ]
            let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
            try await chat.close()
            return ScenarioReport(name: "storm", unit: "1,000 deliveries of chat", variants: reports)
        }
    }

    /// Measures one storm. The users were connected, missed ``changes`` messages, and come back.
    private static func storm(
        _ target: LoadTarget, _ plan: RoomPlan, _ conversations: [String], _ chat: RoomLoad, _ mode: LoadMode,
        _ context: ScenarioContext
    ) async throws -> RunResult {
        try await Task.sleep(for: ListScenario.replayMargin)
        let since = try await lastPacket(of: plan.firstUser, target, context)
        _ = try await target.concurrently(0..<plan.rooms * changes) { number in
            let room = number % plan.rooms
            let body: JSONValue = ["parts": [["mime_type": "text/plain", "body": "missed"]]]
            try await target.call(
                "POST", "/conversations/\(conversations[room])/messages", as: plan.user(0, of: room), body: body)
        }
        async let beside = chat.measure(mode, seconds: context.settings.seconds)
        let begun = ContinuousClock.now
        let returned = await comeBack(target, plan, since, context)
        let took = (ContinuousClock.now - begun) / .seconds(1)
        let run = try await beside
        var result = RunResult(run, operation: "messages", bounds: context.settings.bounds)
        result.figures =
            [Figure("all caught up after", took, "s"), Figure("failures", Double(returned.failures))] + result.figures
        if returned.failures > 0, result.problem == nil {
            result.problem = "\(returned.failures) of \(plan.users) users did not catch up: \(returned.firstFailure)"
        }
        return result
    }

    /// Returns the time of the last packet of a user who is connected now.
    private static func lastPacket(
        of user: Int, _ target: LoadTarget, _ context: ScenarioContext
    ) async throws -> String {
        let socket = try await LoadSocket.open(
            target.addresses[0], path: target.path(ofUser: user, room: "", includesSender: true),
            saying: LoadSocket.counterRequest, on: context.loops.group)
        let time = try await socket.firstAnswer()
        socket.close()
        return time
    }

    private struct Returned: Sendable {
        var failures = 0
        var firstFailure = ""
    }

    /// Reconnects all users at once, and waits until each has received its changes.
    private static func comeBack(
        _ target: LoadTarget, _ plan: RoomPlan, _ since: String, _ context: ScenarioContext
    ) async -> Returned {
        await withTaskGroup(of: String?.self) { tasks in
            for user in plan.firstUser..<plan.firstUser + plan.users {
                tasks.addTask { await comeBack(user, target, since, context) }
            }
            return await tasks.reduce(into: Returned()) { returned, failure in
                guard let failure else { return }
                if returned.failures == 0 { returned.firstFailure = failure }
                returned.failures += 1
            }
        }
    }

    /// Reconnects one user.
    /// - Returns: The reason of a failure; nil if the user caught up.
    private static func comeBack(
        _ user: Int, _ target: LoadTarget, _ since: String, _ context: ScenarioContext
    ) async -> String? {
        do {
            let socket = try await LoadSocket.open(
                target.addresses[user % target.addresses.count],
                path: target.path(ofUser: user, room: "", includesSender: true), saying: ListScenario.replay(since),
                on: context.loops.group)
            let isReplayed = try await socket.replayed(within: patience)
            let messages = try await socket.read { $0.messages }
            socket.close()
            if !isReplayed { return "the replay failed" }
            return messages == changes ? nil : "\(messages) of \(changes) messages were replayed"
        } catch {
            return "\(error)"
        }
    }
}
