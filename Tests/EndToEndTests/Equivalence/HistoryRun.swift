// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import Synchronization
import TestCluster

@testable import StrataCommand

/// Carries out a plan and finally compares every client's state with a fresh load.
struct HistoryRun: Sendable {
    struct Report: Sendable {
        var failures: [String] = []
        var requests = 0
        var refusals = 0
        var packets = 0
        var replays = 0
        var loads = 0

        mutating func add(_ other: Report) {
            failures += other.failures
            requests += other.requests
            refusals += other.refusals
            packets += other.packets
            replays += other.replays
            loads += other.loads
        }
    }

    let plan: HistoryPlan
    let clients: [ReplicaClient]
    /// The maximum wait for a client that still differs. Everything it must receive is already committed.
    private let patience = Duration.seconds(20)
    private let tally = Tally()
    private let trace: HistoryTrace?

    private final class Tally: Sendable {
        let report = Mutex(Report())
    }

    private init(plan: HistoryPlan, clients: [ReplicaClient], trace: HistoryTrace?) {
        self.plan = plan
        self.clients = clients
        self.trace = trace
    }

    static func start(_ plan: HistoryPlan, in app: TestApp) async throws -> HistoryRun {
        let trace = HistoryTrace()
        let clients = try await withThrowingTaskGroup(of: (Int, ReplicaClient).self) { group in
            for (index, member) in plan.members.enumerated() {
                group.addTask {
                    let user = try await app.signIn(member.name, via: member.gateway, version: member.version)
                    let client = ReplicaClient(
                        user, mayLoad: plan.interrupted(index), isToldAll: !plan.hasBlocks(index), trace: trace)
                    if !member.isLate { try await client.connect(via: member.gateway) }
                    return (index, client)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return HistoryRun(plan: plan, clients: clients, trace: trace)
    }

    /// Carries out all rounds, compares the clients, and closes the sockets.
    func run() async -> Report {
        do {
            for (number, round) in plan.rounds.enumerated() {
                if plan.snapshotBefore == number {
                    try await compare(clients.indices.filter { clients[$0].isOnline }, "before the change")
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for step in round { group.addTask { try await perform(step, in: number) } }
                    try await group.waitForAll()
                }
            }
            for (client, member) in zip(clients, plan.members) where !client.isOnline {
                try await client.connect(via: 1 - member.gateway)
            }
            try await compare(Array(clients.indices), "in the end")
            if plan.endsWithMessages {
                try await sendEverywhere()
                try await compare(Array(clients.indices), "after one more message everywhere")
            }
            for index in plan.replayAgain {
                try await replayAgain(clients[index], via: plan.members[index].gateway + 1)
            }
            try await compare(plan.replayAgain, "after all was replayed onto it")
        } catch {
            fail("broke off: \(error)")
        }
        return await ended()
    }

    private func ended() async -> Report {
        for client in clients { await client.drop(losing: false) }
        var report = tally.report.withLock { $0 }
        for (client, member) in zip(clients, plan.members) {
            report.failures += client.faults.map { "\(plan.name), \(member.name) (\(member.version.rawValue)): \($0)" }
            let counts = client.state.change { ($0.packets, $0.replays, $0.loads) }
            report.packets += counts.0
            report.replays += counts.1
            report.loads += counts.2
        }
        if !report.failures.isEmpty { trace?.write(as: plan.name, failures: report.failures) }
        return report
    }

    private func fail(_ words: String) { tally.report.withLock { $0.failures.append("\(plan.name), \(words)") } }

    // MARK: Final comparison

    /// Sends one more message in each conversation with participants, because a client with the right state must also
    /// receive later changes. All clients are compared before it as well: a message carries counts that may hide wrong
    /// ones.
    private func sendEverywhere() async throws {
        for conversation in plan.conversations {
            for client in clients where client.state.change({ $0.replica.isParticipant(in: conversation) }) {
                if try await client.user
                    .call("POST", layerPath(conversation) + "/messages", TestUser.message("the end")).isSuccess
                {
                    break
                }
            }
        }
    }

    private func compare(_ members: [Int], _ when: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in members {
                group.addTask {
                    let (client, member) = (clients[index], plan.members[index])
                    await client.replaysAnswered()
                    let fresh = try await FreshState(of: client.user, pageSize: 1 + index * 3)
                    let differences = await client.differences(from: fresh, within: patience)
                    for difference in differences {
                        fail("\(member.name) (\(member.version.rawValue)) \(when): \(difference)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func replayAgain(_ client: ReplicaClient, via gateway: Int) async throws {
        await client.drop(losing: false)
        try await client.connect(via: gateway, since: client.state.change { $0.firstTimestamp })
    }

    // MARK: Steps

    private func perform(_ step: HistoryPlan.Step, in round: Int) async throws {
        let client = clients[step.actor]
        trace?.note("\(plan.name), round \(round), \(client.user.user): \(step.operation)")
        switch step.operation {
        case .drop(let losing): await client.drop(losing: losing)
        case .connect(let gateway): if !client.isOnline { try await client.connect(via: gateway) }
        case .openLate(let gateway):
            try await client.loadLists()
            try await client.connect(via: gateway)
        default:
            guard let refusal = try await outcome(of: step.operation, by: client) else {
                return counted(isRefusal: false)
            }
            counted(isRefusal: true)
            let isExpected =
                ["not_found", "access_denied", "conflict", "id_in_use"].contains(refusal) && !plan.mustSucceed
            if !isExpected {
                fail("round \(round), \(plan.members[step.actor].name): \(step.operation) was answered \(refusal)")
            }
        }
    }

    private func counted(isRefusal: Bool) {
        tally.report.withLock { report in
            report.requests += 1
            report.refusals += isRefusal ? 1 : 0
        }
    }

    /// - Returns: The id of the error; nil on success.
    private func outcome(of operation: HistoryPlan.Operation, by client: ReplicaClient) async throws -> String? {
        switch operation {
        case .create(let conversation, let others, let isDistinct, let metadata, let overSocket):
            var body: JSONValue = [
                "id": .string(plan.conversations[conversation]), "distinct": .bool(isDistinct),
                "participants": .array(others.map { .string(identity($0)) }),
            ]
            if let metadata { body["metadata"] = metadata }
            return try await create("Conversation.create", nil, "/conversations", body, overSocket, client)
        case .send(let number, let parts, let notification, let overSocket):
            let message = plan.messages[number]
            let conversation = plan.conversations[message.conversation]
            var body: JSONValue = ["id": .string(message.id), "parts": parts]
            if let notification { body["notification"] = notification }
            return try await create(
                "Message.create", conversation, layerPath(conversation) + "/messages", body, overSocket, client)
        case .patch(let conversation, let patches):
            return try await rest(
                "PATCH", layerPath(plan.conversations[conversation]), .array(patches.map(json)), client)
        case .deleteMessage(let number, let forAll):
            let path = "\(layerPath(plan.messages[number].id))?mode=\(forAll ? "all_participants" : "my_devices")"
            return try await rest("DELETE", path, nil, client)
        case .deleteConversation(let conversation, let query):
            return try await rest("DELETE", "\(layerPath(plan.conversations[conversation]))?\(query)", nil, client)
        case .deleteUpTo(let conversation, let percent, let leaves):
            let id = plan.conversations[conversation]
            let query =
                "mode=my_devices&position=\(position(percent, in: id, of: client) / 8192)"
                + (leaves ? "&leave=true" : "")
            return try await rest("DELETE", "\(layerPath(id))?\(query)", nil, client)
        case .receipt(let number, let type):
            return try await rest(
                "POST", layerPath(plan.messages[number].id) + "/receipts", ["type": .string(type)], client)
        case .receipts(let numbers, let type):
            guard let first = numbers.first else { return nil }
            let body: JSONValue = ["type": .string(type), "ids": .array(numbers.map { .string(plan.messages[$0].id) })]
            return try await rest(
                "POST", layerPath(plan.conversations[plan.messages[first].conversation]) + "/receipts", body, client)
        case .markAllRead(let conversation, let percent):
            let id = plan.conversations[conversation]
            let body: JSONValue = [
                "position": percent.map { .integer(Int64(position($0, in: id, of: client))) } ?? .null
            ]
            return try await rest("POST", layerPath(id) + "/mark_all_read", body, client)
        case .byServer(let operation): return try await outcome(of: operation, as: AppServer(client.user.app))
        case .block(let other, let isBlocked):
            return try await rest(
                isBlocked ? "PUT" : "DELETE", "/blocks/users/\(clients[other].user.user)", nil, client)
        case .drop, .connect, .openLate: return nil
        }
    }

    /// - Returns: The id of the error; nil on success.
    private func outcome(of operation: HistoryPlan.ServerOperation, as own: AppServer) async throws -> String? {
        var server = own
        let answer: RESTResponse
        switch operation {
        case .create(let conversation, let users):
            answer = try await server.call(
                "POST", "/conversations",
                [
                    "id": .string(plan.conversations[conversation]),
                    "participants": .array(users.map { .string(identity($0)) }), "distinct": false,
                ])
        case .patch(let conversation, let patches):
            answer = try await server.call(
                "PATCH", layerPath(plan.conversations[conversation]), .array(patches.map(json)))
        case .send(let number):
            let message = plan.messages[number]
            server.version = "1.0"
            answer = try await server.call(
                "POST", layerPath(plan.conversations[message.conversation]) + "/messages",
                TestUser.message("news", id: message.id).merging(["sender": ["name": "Concierge"]]))
        case .edit(let number):
            let message = plan.messages[number]
            answer = try await server.call(
                "PUT", layerPath(plan.conversations[message.conversation]) + layerPath(message.id) + "/parts",
                [["mime_type": "text/plain", "body": "other news"]])
        case .deleteMessage(let number): answer = try await server.call("DELETE", layerPath(plan.messages[number].id))
        case .deleteConversation(let conversation):
            answer = try await server.call("DELETE", layerPath(plan.conversations[conversation]))
        }
        return answer.isSuccess ? nil : answer.errorID ?? "\(answer.status)"
    }

    /// Sends a REST request. An idle connection may be closed just when it is reused. As clients do, a POST is then
    /// retried; this is safe, because each carries an id or sets a state.
    private func rest(
        _ method: String, _ path: String, _ body: JSONValue?, _ client: ReplicaClient
    ) async throws -> String? {
        let answer: RESTResponse
        do {
            answer = try await client.user.call(method, path, body)
        } catch let error as ProtocolClientError where error.code == .transport && method == "POST" {
            answer = try await client.user.call(method, path, body)
            if answer.errorID == "id_in_use" { return nil }
        }
        if answer.status >= 500 { fail("\(method) \(path) was answered with \(answer.status)") }
        return answer.isSuccess ? nil : answer.errorID ?? "\(answer.status)"
    }

    /// Creates an object, over the socket if there is one. If the socket is lost, the request is retried over REST, as
    /// clients do. The first attempt may have succeeded.
    private func create(
        _ method: String, _ object: String?, _ path: String, _ body: JSONValue, _ overSocket: Bool,
        _ client: ReplicaClient
    ) async throws -> String? {
        guard overSocket, let socket = client.socket else { return try await rest("POST", path, body, client) }
        do {
            let answer = try await socket.ask(method, object, body)
            return answer.isSuccess ? nil : answer.errorID ?? "unsuccessful"
        } catch let error as ProtocolClientError where error.code == .closed || error.code == .transport {
            let refusal = try await rest("POST", path, body, client)
            return refusal == "id_in_use" ? nil : refusal
        }
    }

    private func identity(_ member: Int) -> String { clients[member].user.identity }

    private func json(_ patch: HistoryPlan.Patch) -> JSONValue {
        switch patch {
        case .add(let user): add(clients[user].user)
        case .remove(let user): remove(clients[user].user)
        case .set(let path, let value): set(path, value)
        case .delete(let path): delete(path)
        }
    }

    private func position(_ percent: Int, in conversation: String, of client: ReplicaClient) -> Int {
        let positions = client.state.change { state in
            state.replica.messages.values.filter { $0["conversation"]["id"].string == conversation }
                .compactMap { $0["position"].int }.sorted()
        }
        return positions.isEmpty ? 0 : positions[(positions.count - 1) * percent / 100]
    }
}
