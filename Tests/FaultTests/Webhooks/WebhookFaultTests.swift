// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import StrataCommand
import Synchronization
import TestCluster
import TestTiers
import Testing

/// Tests webhook deliveries under faults. Users write, processes and servers end and hang, and the receiver fails at
/// times. With several databases, the app moves to another one and back. Afterwards every acknowledged change must have
/// been delivered.
@Suite("webhooks under faults", .serialized, .long)
struct WebhookFaultTests {
    private static let size = Cluster.Size(
        gateways: 2, conversations: 2, metadata: 2, webhooks: 2,
        settings: [
            "STRATA_WEBHOOKS_ALLOW_HTTP": "true", "STRATA_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.0/8",
            "STRATA_WEBHOOKS_TIMEOUT": "1s",
            "STRATA_WEBHOOKS_RETRY_AFTER": "100ms,500ms,1s", "STRATA_WEBHOOKS_RETRY_EVERY": "1s",
            "STRATA_WEBHOOKS_RETRY_FOR": "1h",
        ])

    /// The acknowledged changes of one writer, in order.
    private struct Acknowledged: Sendable {
        var messages: [String] = []
        var values: [String] = []
    }

    /// A flag that ends the writers.
    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    @Test(
        "every acknowledged change arrives, in order per conversation, and repeated deliveries are identical",
        .timeLimit(.minutes(10)))
    func judged() async throws {
        try await Cluster.with(Self.size) { cluster in
            let receiver = try await WebhookReceiver.start()
            let app = try await cluster.app()
            try await register(receiver, of: app)
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            var conversations: [Conversation] = []
            for _ in 0..<6 { conversations.append(try await ana.converse(with: [ben], distinct: false)) }
            let end = Flag()
            let acknowledged = try await withThrowingTaskGroup(of: (String, Acknowledged).self) { group in
                for (number, conversation) in conversations.enumerated() {
                    let writer = number.isMultiple(of: 2) ? ana : ben
                    group.addTask {
                        (conversation.id, try await write(to: conversation, as: writer) { end.isSet.withLock { $0 } })
                    }
                }
                do {
                    try await breakThings(in: cluster, receiver)
                    try await moveAround(app, in: cluster)
                } catch {
                    end.isSet.withLock { $0 = true }
                    throw error
                }
                end.isSet.withLock { $0 = true }
                var all: [String: Acknowledged] = [:]
                for try await (conversation, done) in group { all[conversation] = done }
                return all
            }
            let total = acknowledged.values.reduce(0) { $0 + $1.messages.count + $1.values.count }
            #expect(total > 100)
            _ = try await receiver.events(at: "/judge", within: .seconds(180)) { events in
                let ids = Set(events.compactMap(\.id))
                let values = Set(events.compactMap { $0.json["changes"][0]["value"].string })
                return acknowledged.values.allSatisfy {
                    $0.messages.allSatisfy(ids.contains) && $0.values.allSatisfy(values.contains)
                }
            }
            judge(receiver.events(at: "/judge"), acknowledged)
            print(
                "webhooks under faults: \(total) acknowledged changes, \(receiver.events(at: "/judge").count) deliveries"
            )
            await receiver.stop()
        }
    }

    private func register(_ receiver: WebhookReceiver, of app: TestApp) async throws {
        let server = AppServer(app)
        let id = try await server.register([
            "version": "3.0", "target_url": .string(receiver.url("/judge")),
            "events": ["Message.created", "Conversation.updated"], "secret": "of a test's receiver",
        ])
        try await server.awaitActive(webhook: id)
    }

    // MARK: Writing

    /// Writes changes in sequence, each until it is acknowledged.
    private func write(
        to conversation: Conversation, as user: TestUser, until isOver: @Sendable () -> Bool
    ) async throws -> Acknowledged {
        var acknowledged = Acknowledged()
        var number = 0
        while !isOver() {
            number += 1
            let id = UUID().uuidString.lowercased()
            if number.isMultiple(of: 4) {
                let value = "\(conversation.id) \(number)"
                let patch: JSONValue = [set("metadata.number", .string(value))]
                try await insist {
                    try await user.call("PATCH", conversation.path, patch, headers: ["Strata-Mutation": id])
                }
                acknowledged.values.append(value)
            } else {
                let message = TestUser.message("\(number)", id: "layer:///messages/\(id)")
                try await insist { try await user.call("POST", conversation.path + "/messages", message) }
                acknowledged.messages.append(id)
            }
        }
        return acknowledged
    }

    /// Repeats a request until it succeeds. The requests are idempotent: a message whose id is in use has arrived.
    private func insist(_ ask: () async throws -> RESTResponse) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            if let answer = try? await ask(), answer.isSuccess || answer.json["id"].string == "id_in_use" { return }
            guard .now < end else { throw UnexpectedAnswer("a change is not taken within two minutes", #fileID, #line) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    // MARK: Breaking

    private func breakThings(in cluster: Cluster, _ receiver: WebhookReceiver) async throws {
        let period = Duration.seconds(1)
        func kill(_ kind: ServiceProcess.Kind, _ number: Int) async throws {
            let process = cluster.instances(of: kind)[number]
            await process.kill()
            try await Task.sleep(for: period)
            try await process.start()
        }
        try await kill(.webhooks, 0)
        try await kill(.conversations, 0)
        receiver.set(.answer(500), for: "/judge")
        try await kill(.webhooks, 1)
        receiver.set(.close, for: "/judge")
        try await kill(.metadata, 0)
        receiver.set(.accept, for: "/judge")
        let hanging = cluster.instances(of: .webhooks)[0]
        await hanging.suspend()
        // Longer than the lease of the instance's lanes: another instance takes them over, and this one detects that
        // when it resumes.
        try await Task.sleep(for: .seconds(14))
        await hanging.resume()
        receiver.set(.slow(.milliseconds(300)), for: "/judge")
        await cluster.redis.kill()
        try await Task.sleep(for: period)
        try await cluster.redis.restart()
        receiver.set(.accept, for: "/judge")
        await cluster.postgres.kill()
        try await Task.sleep(for: period)
        try await cluster.postgres.restart()
        for process in cluster.instances(of: .webhooks) { await process.kill() }
        try await kill(.conversations, 1)
        for process in cluster.instances(of: .webhooks) { try await process.start() }
        try await Task.sleep(for: period)
    }

    /// Moves the app to another database and back, and kills a service at each time.
    private func moveAround(_ app: TestApp, in cluster: Cluster) async throws {
        let names = cluster.databases.names
        guard let first = names.first, let last = names.last, first != last else { return }
        let moves: [(target: String, killed: ServiceProcess.Kind)] = [(first, .webhooks), (last, .conversations)]
        for (target, kind) in moves {
            let launch = Launch(
                try Executables.find("strata"),
                arguments: ["app", "move", "--database", cluster.databases.list(), app.id, target])
            async let move = ChildProcess.run(launch, timeout: .seconds(300))
            let process = cluster.instances(of: kind)[0]
            await process.kill()
            try await Task.sleep(for: .seconds(2))
            try await process.start()
            let result = try await move
            #expect(result.isSuccess, "\(result.output)")
        }
    }

    // MARK: Judging

    private func judge(_ events: [WebhookReceiver.Event], _ acknowledged: [String: Acknowledged]) {
        var changes: [String: [JSONValue]] = [:]
        var (firstMessages, firstValues): ([String: [(id: String, position: Int)]], [String: [String]]) = ([:], [:])
        for event in events {
            guard let id = event.id else {
                Issue.record("an event without an id")
                continue
            }
            // The conversation in an event has its state at the time of the delivery.
            let change = [
                event.json["event"], event.json["changes"], event.json["message"]["id"],
                event.json["message"]["position"],
            ]
            if let before = changes[id] {
                #expect(before == change, "\(id) was told in two ways")
                continue
            }
            changes[id] = change
            if let conversation = event.json["message"]["conversation"]["id"].string,
                let position = event.json["message"]["position"].int
            {
                firstMessages[conversation, default: []].append((id, position))
            } else if let conversation = event.json["conversation"]["id"].string,
                let value = event.json["changes"][0]["value"].string
            {
                firstValues[conversation, default: []].append(value)
            }
        }
        for (conversation, done) in acknowledged {
            let messages = firstMessages[conversation] ?? []
            #expect(messages.map { $0.id } == done.messages, "messages of \(conversation)")
            #expect(
                zip(messages, messages.dropFirst()).allSatisfy { $0.position < $1.position }, "order of \(conversation)"
            )
            #expect(firstValues[conversation] ?? [] == done.values, "metadata of \(conversation)")
        }
    }
}
