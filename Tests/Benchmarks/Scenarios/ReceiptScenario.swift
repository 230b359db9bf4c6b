// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import ProtocolClient

/// Receipts over REST, each answered after its commit, in a closed loop.
enum ReceiptScenario {
    /// Conversations of five; four read each message.
    private static let plan = RoomPlan(rooms: 40, members: 5, senders: 1)
    private static let messages = 25
    private static let workers = 64
    /// A conversation whose users read 100 messages one by one.
    private static let largePlan = RoomPlan(rooms: 1, members: 20, senders: 1, firstUser: 200)
    private static let unread = 100

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try await context.withTarget { target in
            let rooms = try await target.makeRooms(plan)
            let large = try await target.makeRooms(largePlan)
            let bounds = context.settings.bounds
            let variants = [
                ScenarioVariant(title: "four read receipts of each message") {
                    let sent = try await send(messages, to: rooms, plan, target)
                    let run = try await RESTLoad(target, on: context.loops).run(oneEach(sent, target))
                    return RunResult(run, name: "receipts", bounds: bounds)
                },
                ScenarioVariant(title: "19 users mark 100 messages as read, one by one") {
                    let sent = try await send(unread, to: large, largePlan, target)
                    let run = try await RESTLoad(target, on: context.loops).run(oneByOne(sent, target))
                    return RunResult(run, name: "receipts", bounds: bounds)
                },
            ]
            return ScenarioReport(
                name: "receipts over REST", unit: "1,000 receipts",
                variants: try await ScenarioVariant.interleave(variants, runs: context.settings.runs))
        }
    }

    /// A sent message.
    private struct Sent: Sendable {
        let id: String
        let room: Int
    }

    private static func send(
        _ count: Int, to rooms: [String], _ plan: RoomPlan, _ target: LoadTarget
    ) async throws -> [Sent] {
        let sent = try await target.concurrently(0..<rooms.count * count) { number in
            // Consecutive messages are in different conversations.
            let room = number % rooms.count
            let id = UUID().uuidString.lowercased()
            let body: JSONValue = ["id": .string(id), "parts": [["mime_type": "text/plain", "body": "x"]]]
            try await target.call(
                "POST", "/conversations/\(rooms[room])/messages", as: plan.user(0, of: room), body: body)
            return Sent(id: id, room: room)
        }
        // The publications of the messages are not part of the measurement.
        try await Task.sleep(for: .seconds(1))
        return sent
    }

    /// Returns a read receipt of every other user for every message, divided among the workers.
    private static func oneEach(_ messages: [Sent], _ target: LoadTarget) -> [[ByteBuffer]] {
        var requests: [[ByteBuffer]] = Array(repeating: [], count: workers)
        var number = 0
        for reader in 1..<plan.members {
            for message in messages {
                requests[number % workers]
                    .append(
                        receipt(message, by: plan.user(reader, of: message.room), target))
                number += 1
            }
        }
        return requests
    }

    /// Returns a worker for each other user, who reads one message after another.
    private static func oneByOne(_ messages: [Sent], _ target: LoadTarget) -> [[ByteBuffer]] {
        (1..<largePlan.members)
            .map { reader in
                messages.map { receipt($0, by: largePlan.user(reader, of: 0), target) }
            }
    }

    private static func receipt(_ message: Sent, by user: Int, _ target: LoadTarget) -> ByteBuffer {
        RESTRequest.bytes(
            "POST", "/messages/\(message.id)/receipts", token: target.token(user), body: "{\"type\":\"read\"}",
            to: target.addresses[0])
    }
}
