// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// A load of many users who write continuously in many conversations.
///
/// Every change is retried with the same id or idempotency key until there is an answer. The outcome of a change
/// without any answer is unknown.
struct Load: Sendable {
    struct Size: Sendable {
        var users = 14
        var conversations = 6
        /// The pause between two operations of one user, in milliseconds.
        var pause = 20...120
        /// The time without a packet after which a client tests its gateway, and leaves it if nothing is answered. nil:
        /// clients stay until the connection is lost.
        var silence: Duration?
    }

    let app: TestApp
    let clients: [FaultClient]
    let conversations: [String]
    let recorder: Recorder
    private let size: Size
    private let seed: UInt64

    /// The maximum number of attempts of a change without an answer.
    private static let attempts = 20

    /// Signs the users in, connects them and creates the conversations.
    /// - Parameter prepare: Called before the first conversation is created.
    static func start(
        _ size: Size, seed: UInt64, on system: any TestSystem, journal: Journal? = nil,
        prepare: (TestApp) async throws -> Void = { _ in }
    ) async throws -> Load {
        let recorder = Recorder(journal: journal)
        let app = try await system.app()
        try await prepare(app)
        let users = try await signIn(size.users, to: app)
        let clients = users.map { FaultClient($0, recorder, silence: size.silence) }
        for client in clients { client.start() }
        for client in clients where await !client.caughtUp(within: Waiting.limit) {
            throw LoadError("\(client.user.user) could not connect")
        }
        var generator = SeededGenerator(seed: seed)
        var conversations: [String] = []
        for index in 0..<size.conversations {
            // The first conversation contains all users.
            let others = users.filter { _ in index == 0 || generator.chance(50) }
                .filter { $0.user != users[index % users.count].user }
            conversations.append(try await users[index % users.count].converse(with: others, distinct: false).id)
        }
        return Load(
            app: app, clients: clients, conversations: conversations, recorder: recorder, size: size, seed: seed)
    }

    private static func signIn(_ count: Int, to app: TestApp) async throws -> [TestUser] {
        try await withThrowingTaskGroup(of: (Int, TestUser).self) { group in
            for number in 0..<count { group.addTask { (number, try await app.signIn("user\(number)", via: number)) } }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func run(while body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, client) in clients.enumerated() {
                group.addTask { await write(as: client, SeededGenerator(seed: seed &+ UInt64(index + 1))) }
            }
            defer { group.cancelAll() }
            try await body()
        }
    }

    /// Waits until every client has received everything, then reads the final state of the system.
    func settle(_ system: any TestSystem, within limit: Duration) async throws -> History {
        let deadline = ContinuousClock.now + limit
        await awaitReplays(until: deadline)
        var state: [History.Conversation] = []
        for round in 1...20 {
            let ends = try await end(round, until: deadline)
            state = try await ServerState.read(conversations, of: clients.map(\.user), on: system)
            // A request over a broken network may be executed long after the client gave up. All clients must then
            // receive that change, too.
            let isLast = state.allSatisfy { conversation in
                ends[conversation.id]
                    .map { conversation.log.last?.kind == .metadata([.init(path: Self.endPath, value: $0)]) } ?? true
            }
            if isLast, try await ServerState.areUnchanged(state, on: system) { break }
        }
        // A client may have lost its connection in the meantime, for example when gateways detect a clock that was set
        // back. During a replay its state is outdated.
        await awaitReplays(until: deadline)
        // The counts after a repair follow the changes of the repair.
        let patience = ContinuousClock.now + .seconds(10)
        for conversation in state {
            for client in clients { await client.agrees(with: conversation, within: patience - .now) }
        }
        for client in clients { await client.stop() }
        return recorder.history(views: clients.flatMap(\.views), conversations: state)
    }

    /// Waits until every client has received the changes it missed.
    private func awaitReplays(until deadline: ContinuousClock.Instant) async {
        for client in clients where await !client.caughtUp(within: deadline - .now) {
            recorder.add(faults: ["\(client.user.user) did not come back: it \(client.status)"])
        }
    }

    private static let endPath = "end"

    /// Writes a final value to the metadata of each conversation, and waits until its users have received it. A final
    /// message would not suffice, because it also carries the last message and the counts, and would thereby hide
    /// missing changes.
    /// - Returns: The values by conversation, without conversations in which no client takes part.
    private func end(_ round: Int, until deadline: ContinuousClock.Instant) async throws -> [String: String] {
        var ends: [String: String] = [:]
        for id in conversations {
            guard let members = try await members(of: id, until: deadline),
                let sender = clients.first(where: { members.contains($0.user.user) })
            else { continue }
            let value = "end \(round) of \(id)"
            await patch(.set(path: Self.endPath, value: value), in: id, as: sender, attempts: 200)
            ends[id] = value
            for client in clients where members.contains(client.user.user) {
                if await !client.hasSeen(value, within: deadline - .now) {
                    recorder.add(faults: ["\(client.user.user) was not told \(value)"])
                }
            }
        }
        return ends
    }

    /// Returns the participants; nil if two users have removed each other and none are left.
    private func members(of id: String, until deadline: ContinuousClock.Instant) async throws -> Set<String>? {
        for client in clients {
            while true {
                let answer = try await client.user.call("GET", layerPath(id))
                let members = (answer.json["participants"].array ?? []).compactMap { $0["user_id"].string }
                if !members.isEmpty { return Set(members) }
                // Former participants see an empty list; other users get no conversation.
                if answer.status < 500 { break }
                guard ContinuousClock.now < deadline else {
                    throw LoadError("\(id) cannot be loaded: \(answer.status)")
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        return nil
    }

    // MARK: Writing

    private func write(as client: FaultClient, _ seeded: SeededGenerator) async {
        var generator = seeded
        var number = 0
        while !Task.isCancelled {
            number += 1
            await act(as: client, number, &generator)
            try? await Task.sleep(for: .milliseconds(generator.int(size.pause)))
        }
    }

    private func act(as client: FaultClient, _ number: Int, _ generator: inout SeededGenerator) async {
        let id = generator.pick(conversations)
        let mark = "\(client.user.user)-\(number)"
        switch generator.int(0...99) {
        case 0...49: await send("text \(mark)", to: id, as: client, &generator, attempts: Self.attempts)
        // Contended keys, keys of one user, and trees below both.
        case 50...57: await set(generator.pick(["title", "a", "a.b", "a.c.d"]), "value \(mark)", in: id, as: client)
        case 58...67: await set("own.\(client.user.user).k\(generator.int(0...3))", "value \(mark)", in: id, as: client)
        case 68...69:
            await patch(.delete(path: generator.pick(["a", "a.b", "own.\(client.user.user)"])), in: id, as: client)
        case 70...74: await changeParticipants(of: id, as: client, &generator)
        case 75...88: await read(id, as: client, &generator)
        case 89...90: await readAll(id, as: client)
        case 91: await list(as: client)
        default: try? await client.socket?.typing(generator.pick(["started", "started", "paused", "finished"]), in: id)
        }
    }

    /// Sends a message and returns its id.
    @discardableResult
    private func send(
        _ text: String, to id: String, as client: FaultClient, _ generator: inout SeededGenerator, attempts: Int
    ) async -> String {
        let message = "layer:///messages/\(generator.uuid())"
        let body = TestUser.message(text, id: message)
        let overSocket = generator.chance(50)
        await record(.send(message: message), in: id, as: client, attempts: attempts) {
            if overSocket, let socket = client.socket {
                let answer = try await socket.request(
                    "Message.create", objectID: id, data: body, deadline: .now + .seconds(5))
                return Outcome(answer.isSuccess, answer.errorID)
            }
            let answer = try await client.rest.call(
                "POST", layerPath(id) + "/messages", body: body, token: client.user.token, deadline: .now + .seconds(5))
            return Outcome(answer.isSuccess, answer.errorID)
        }
        return message
    }

    private func set(_ path: String, _ value: String, in id: String, as client: FaultClient) async {
        await patch(.set(path: path, value: value), in: id, as: client)
    }

    private func changeParticipants(of id: String, as client: FaultClient, _ generator: inout SeededGenerator) async {
        // No user leaves the first conversation, so that it stays large and keeps participants who can read it.
        let other = generator.pick(clients.filter { $0 !== client }).user.user
        if generator.chance(50), id != conversations.first {
            await patch(.remove(user: other), in: id, as: client)
        } else {
            await patch(.add(user: other), in: id, as: client)
        }
    }

    private func patch(
        _ action: History.Operation.Action, in id: String, as client: FaultClient, attempts: Int = Self.attempts
    ) async {
        let operation: JSONValue =
            switch action {
            case .set(let path, let value):
                ["operation": "set", "property": .string("metadata." + path), "value": .string(value)]
            case .delete(let path): ["operation": "delete", "property": .string("metadata." + path)]
            case .add(let user):
                ["operation": "add", "property": "participants", "id": .string("layer:///identities/\(user)")]
            case .remove(let user):
                ["operation": "remove", "property": "participants", "id": .string("layer:///identities/\(user)")]
            case .send, .read, .readAll, .list: .null
            }
        await record(action, in: id, as: client, attempts: attempts, "PATCH", layerPath(id), [operation])
    }

    private func read(_ id: String, as client: FaultClient, _ generator: inout SeededGenerator) async {
        guard
            let answer = try? await client.rest.call(
                "GET", layerPath(id) + "/messages?page_size=5", token: client.user.token, deadline: .now + .seconds(5)),
            let messages = answer.json.array?.compactMap({ $0["id"].string }), !messages.isEmpty
        else { return }
        let message = generator.pick(messages)
        await record(
            .read(message: message), in: id, as: client, "POST", layerPath(message) + "/receipts", ["type": "read"])
    }

    private func list(as client: FaultClient) async {
        await record(.list, in: "", as: client, attempts: 3) {
            let answer = try await client.rest.call(
                "GET", "/conversations?page_size=20", token: client.user.token, deadline: .now + .seconds(10))
            return Outcome(answer.isSuccess, answer.errorID)
        }
    }

    private func readAll(_ id: String, as client: FaultClient) async {
        await record(.readAll, in: id, as: client, "POST", layerPath(id) + "/mark_all_read", [:])
    }

    // MARK: Recording

    /// The result of an attempt.
    private enum Outcome {
        case done
        /// The server refused the request because of the user's permissions.
        case refused
        /// A refusal without a cause in this load. A client that believed it would give up or sign out.
        case wrong(String)
        /// The outcome is open: the server says it did nothing, or does not answer.
        case open
        /// The server answered with 500, and does not know the outcome.
        case broken

        init(_ isSuccess: Bool, _ error: String?) {
            if isSuccess || error == "id_in_use" {
                self = .done
            } else {
                switch error {
                case "service_unavailable", "request_timeout", nil: self = .open
                case "internal_server_error": self = .broken
                case "access_denied", "not_found": self = .refused
                case let error?: self = .wrong(error)
                }
            }
        }
    }

    /// Makes a change with an idempotency key, so that it is applied once, however often it is retried.
    private func record(
        _ action: History.Operation.Action, in id: String, as client: FaultClient, attempts: Int = Self.attempts,
        _ method: String, _ path: String,
        _ body: JSONValue
    ) async {
        let name = UUID().uuidString
        await record(action, in: id, as: client, attempts: attempts) {
            let answer = try await client.rest.call(
                method, path, body: body, token: client.user.token, headers: ["Strata-Mutation": name],
                deadline: .now + .seconds(5))
            return Outcome(answer.isSuccess, answer.errorID)
        }
    }

    private func record(
        _ action: History.Operation.Action, in id: String, as client: FaultClient, attempts: Int,
        _ attempt: () async throws -> Outcome
    ) async {
        let begun = recorder.moment()
        var outcome = History.Operation.Outcome.unknown
        var (isOpen, isAnswered) = (false, false)
        for number in 0..<attempts {
            if number > 0 { try? await Task.sleep(for: .milliseconds(min(100 * number, 1000))) }
            recorder.journal?.write("\(client.user.user) asks, \(number + 1): \(action) in \(id)")
            let answer = try? await attempt()
            recorder.journal?
                .write(
                    "\(client.user.user) answered, \(number + 1): \(answer.map { "\($0)" } ?? "not at all"): \(action) in \(id)"
                )
            // Stock clients retry after 503 but give up after 500, so 500 is a fault in any case.
            if case .broken? = answer { recorder.add(faults: ["\(client.user.user): \(action) was answered with 500"]) }
            if case .wrong(let error)? = answer {
                recorder.add(faults: ["\(client.user.user): \(action) was answered with \(error)"])
            }
            switch answer {
            case .done?: outcome = .acknowledged
            // A refusal does not exclude that an earlier attempt without an answer was applied.
            case .refused?, .wrong?: outcome = isOpen ? .unknown : .refused
            case .open?, .broken?, nil:
                // The end of the load interrupts attempts.
                if !Task.isCancelled { recorder.noteOpenAttempt(isAnswered: answer != nil) }
                isOpen = true
                continue
            }
            isAnswered = true
            break
        }
        recorder.add(
            History.Operation(
                actor: client.user.user, conversation: id, action: action, begun: begun, ended: recorder.moment(),
                outcome: outcome,
                isAnswered: isAnswered, isCutShort: Task.isCancelled))
    }
}

struct LoadError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
