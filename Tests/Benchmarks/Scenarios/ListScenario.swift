// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import ProtocolClient

/// Lists and replays of a user with 10,000 conversations, and the first replay of 5,000 conversations that are new to a
/// client.
enum ListScenario {
    private static let conversations = 10_000
    private static let newConversations = 5000
    private static let changes = [1, 100, 10_000]
    /// Pages of a list in one run.
    private static let pages = 50
    private static let patience = Duration.seconds(120)
    /// The time that a replay reaches further back than asked, 30 s, the age of the time in an answer, 10 s, and a
    /// little more. Changes within it would be replayed.
    static let replayMargin = Duration.seconds(44)

    /// The users: one with many conversations, and one who gets many new ones.
    private static let (heavy, fresh) = (0, 1)
    /// The other users: so many that each adds the first two less often than an app allows for an hour by default.
    private static let partners = 2..<502

    private static func partner(_ conversation: Int) -> Int {
        partners.lowerBound + conversation % partners.count
    }

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try await context.withTarget { target in
            try await target.signIn(users: partners.upperBound)
            Progress.print("creating \(conversations) conversations")
            let ids = try await target.concurrently(0..<conversations) { number in
                try await target.conversation(of: [heavy, partner(number)], as: partner(number))
            }
            try await send(conversations, to: ids, target)
            var variants = ["created_at", "last_message"]
                .map { order in
                    ScenarioVariant(title: "a page of 100, by \(order)") { try await list(order, target, context) }
                }
            for count in changes {
                variants.append(
                    ScenarioVariant(title: "replay of \(Report.text(Double(count))) changes") {
                        try await replay(of: heavy, messages: count, target, context) {
                            try await send(count, to: ids, target)
                        }
                    })
            }
            variants.append(
                ScenarioVariant(title: "replay of \(Report.text(Double(newConversations))) new conversations") {
                    try await replay(of: fresh, messages: 0, target, context) {
                        _ = try await target.concurrently(0..<newConversations) { number in
                            try await target.conversation(of: [fresh, partner(number)], as: partner(number))
                        }
                    }
                })
            return ScenarioReport(
                name: "lists and replays", unit: "1,000 requests",
                variants: try await ScenarioVariant.interleave(variants, runs: context.settings.runs))
        }
    }

    /// Returns the request for a replay.
    static func replay(_ since: String) -> String {
        """
        {"type":"request","body":{"request_id":"r0","method":"Event.replay","data":{"from_timestamp":"\(since)"}}}
        """
    }

    private static func send(_ count: Int, to ids: [String], _ target: LoadTarget) async throws {
        _ = try await target.concurrently(0..<count) { number in
            let body: JSONValue = ["parts": [["mime_type": "text/plain", "body": "\(number)"]]]
            let conversation = number % ids.count
            try await target.call(
                "POST", "/conversations/\(ids[conversation])/messages", as: partner(conversation), body: body)
        }
    }

    /// Reads the first page, one request after another.
    private static func list(
        _ order: String, _ target: LoadTarget, _ context: ScenarioContext
    ) async throws -> RunResult {
        let request = RESTRequest.bytes(
            "GET", "/conversations?page_size=100&sort_by=\(order)", token: target.token(heavy),
            to: target.addresses[0])
        let load = RESTLoad(target, on: context.loops)
        _ = try await load.run([[request]])
        let run = try await load.run([Array(repeating: request, count: pages)])
        return RunResult(run, name: "pages", bounds: context.settings.bounds)
    }

    /// Measures the replay of changes that happen while a user is away, from the connection to the answer.
    /// - Parameter messages: The number of messages to expect; 0: any.
    private static func replay(
        of user: Int, messages: Int, _ target: LoadTarget, _ context: ScenarioContext,
        after changes: () async throws -> Void
    ) async throws -> RunResult {
        // A gateway without other sockets does not know the database's time, and its answers show an earlier one.
        let other = try await LoadSocket.open(
            target.addresses[0], path: target.path(ofUser: partners.upperBound - 1, room: "", includesSender: true),
            saying: LoadSocket.counterRequest, on: context.loops.group)
        defer { other.close() }
        try await Task.sleep(for: replayMargin)
        let path = target.path(ofUser: user, room: "", includesSender: true)
        let before = try await LoadSocket.open(
            target.addresses[0], path: path, saying: LoadSocket.counterRequest, on: context.loops.group)
        let since = try await before.firstAnswer()
        before.close()
        try await changes()
        // The commits reach the gateways.
        try await Task.sleep(for: .seconds(1))
        let accountBefore = target.account()
        let start = ContinuousClock.now
        let socket = try await LoadSocket.open(
            target.addresses[0], path: path, saying: replay(since), on: context.loops.group)
        let isReplayed = try await socket.replayed(within: patience)
        let took = (ContinuousClock.now - start) / .milliseconds(1)
        let cost = target.account().flatMap { after in accountBefore.map { after - $0 } }
        let (received, packets) = try await socket.read { ($0.messages, $0.packets) }
        socket.close()
        var result = RunResult(figures: [
            Figure("complete after", took, "ms"), Figure("packets", Double(packets)),
        ])
        if let cost {
            result.figures.append(Figure(FigureName.processorTime, cost.processorTime * 1e3, "ms"))
            result.services = cost.costs(units: 1000, operations: 1)
        }
        if !isReplayed {
            result.problem = "the replay was not answered with success within \(patience)"
        } else if messages > 0, received != messages {
            result.problem = "\(received) of \(messages) messages were replayed"
        }
        return result
    }
}
