// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// The hostile users of a ``Load``. Each ``Hostility`` has two users with one session each. Their actions are bounded
/// in number and bytes.
///
/// Refusals of hostile users are no violations. Only the packets and refusals of the honest users count.
struct HostileUsers: Sendable {
    private let users: [Hostility: [TestUser]]
    private let victims: [FaultClient]
    private let system: any TestSystem
    private let recorder: Recorder
    private let seed: UInt64

    /// The pause between two requests of one session: half of the rate that the limits allow.
    private static let pause = Duration.milliseconds(10)
    /// The number of honest users who are affected directly.
    private static let victimCount = 4

    /// Signs in the hostile users.
    /// - Throws: An error if that fails because a service is unavailable.
    static func start(against load: Load, on system: any TestSystem, seed: UInt64) async throws -> HostileUsers {
        let app = load.clients[0].user.app
        var users: [Hostility: [TestUser]] = [:]
        for hostility in Hostility.allCases {
            users[hostility] = try await app.signIn((0...1).map { "\(hostility.rawValue)\($0)" })
        }
        return HostileUsers(
            users: users, victims: Array(load.clients.prefix(victimCount)), system: system, recorder: load.recorder,
            seed: seed)
    }

    /// Performs all hostilities until the task is cancelled. From time to time the victims' connections are reset, and
    /// they must still receive all changes.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for (index, hostility) in Hostility.allCases.enumerated() {
                guard let pair = users[hostility], pair.count == 2 else { continue }
                group.addTask {
                    var generator = SeededGenerator(seed: seed &+ UInt64(index))
                    switch hostility {
                    case .largeTrees: await growTrees(as: pair[0])
                    case .sparseReaders: await readSparsely(pair[0], pair[1])
                    case .slowReaders: await readNothing(as: pair)
                    case .crossedIDs: await crossIDs(pair[0], pair[1], &generator)
                    }
                }
            }
            group.addTask {
                for victim in victims {
                    try? await Task.sleep(for: .milliseconds(1500))
                    if !Task.isCancelled { await victim.socket?.abort(reset: true) }
                }
            }
        }
    }

    // MARK: Large trees

    /// The target size in bytes, slightly above the server's default limit.
    private static let largestTree = 1_200_000
    private static let trees = 8
    /// The server's default limit of paths and values together, in bytes.
    private static let acceptedTree = 1 << 20

    private func growTrees(as user: TestUser) async {
        for _ in 0..<Self.trees where !Task.isCancelled {
            guard let conversation = await create(as: user, with: []) else { continue }
            let bytes = await grow(conversation, as: user, to: Self.largestTree)
            if bytes > Self.acceptedTree { recorder.noteTree(of: bytes) }
            for _ in 0..<3 {
                for operation in ["remove", "add"] {
                    for victim in victims where !Task.isCancelled {
                        let patch: JSONValue = [
                            "operation": .string(operation), "property": "participants",
                            "id": .string(victim.user.identity),
                        ]
                        if await ask("PATCH", conversation.path, [patch], as: user) { recorder.note(.largeTrees) }
                    }
                }
            }
        }
    }

    /// Adds values to the tree until it reaches `limit`, or the server refuses more.
    /// - Returns: The number of accepted bytes of values.
    private func grow(_ conversation: Conversation, as user: TestUser, to limit: Int) async -> Int {
        let value = JSONValue.string(String(repeating: "x", count: 2000))
        var (leaves, bytes, number) = (150, 0, 0)
        while bytes < limit, leaves > 8, !Task.isCancelled {
            number += 1
            var branch: JSONValue = [:]
            for leaf in 0..<leaves { branch["k\(leaf)"] = value }
            if await ask("PATCH", conversation.path, [set("metadata.b\(number)", branch)], as: user) {
                bytes += leaves * 2000
            } else {
                leaves /= 2
            }
        }
        return bytes
    }

    // MARK: Sparse readers

    private static let longest = 1500
    private static let stretch = 40

    private func readSparsely(_ sender: TestUser, _ reader: TestUser) async {
        guard let conversation = await create(as: sender, with: [reader] + victims.map(\.user)) else { return }
        var sent = 0
        while sent < Self.longest, !Task.isCancelled {
            var ids: [String] = []
            for _ in 0..<Self.stretch where !Task.isCancelled {
                let id = "layer:///messages/\(Conversation.newID().suffix(36))"
                if await ask("POST", conversation.path + "/messages", TestUser.message("sparse", id: id), as: sender) {
                    ids.append(id)
                }
            }
            sent += Self.stretch
            let skipping = stride(from: 0, to: ids.count, by: 2).map { ids[$0] }
            let isTogether = (sent / Self.stretch).isMultiple(of: 2)
            if isTogether {
                await withTaskGroup(of: Void.self) { group in
                    for id in skipping { group.addTask { await read(id, as: reader) } }
                }
            } else {
                for id in skipping where !Task.isCancelled { await read(id, as: reader) }
            }
        }
    }

    private func read(_ message: String, as user: TestUser) async {
        if await ask("POST", layerPath(message) + "/receipts", ["type": "read"], as: user) {
            recorder.note(.sparseReaders)
        }
    }

    // MARK: Slow readers

    private static let silent = 8

    private func readNothing(as pair: [TestUser]) async {
        // Create large objects that the readers can request.
        guard let conversation = await create(as: pair[0], with: [pair[1]]) else { return }
        _ = await grow(conversation, as: pair[0], to: 600_000)
        let part: JSONValue = ["mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2000))]
        let message: JSONValue = ["parts": .array(Array(repeating: part, count: 100))]
        let replay =
            #"{"type":"request","body":{"request_id":"r1","method":"Event.replay","data":{"from_timestamp":"2020-01-01T00:00:00.000Z"}}}"#
        while !Task.isCancelled {
            for _ in 0..<2 where !Task.isCancelled {
                _ = await ask("POST", conversation.path + "/messages", message, as: pair[0])
            }
            var readers: [SilentReader] = []
            for number in 0..<Self.silent {
                let (url, token) = (system.urls[number % system.urls.count], pair[number % 2].token)
                let requests = [
                    SilentReader.socket(saying: replay, token: token),
                    SilentReader.request("/conversations?page_size=100", token: token),
                    SilentReader.request(conversation.path + "/messages?page_size=100", token: token),
                ]
                for request in requests {
                    guard let reader = await SilentReader.open(url, saying: request) else { continue }
                    readers.append(reader)
                    recorder.note(.slowReaders)
                }
            }
            try? await Task.sleep(for: .seconds(3))
            for reader in readers { await reader.close() }
        }
    }

    // MARK: Crossed ids

    private static let crossed = 60

    private func crossIDs(_ one: TestUser, _ other: TestUser, _ generator: inout SeededGenerator) async {
        guard let mine = await create(as: one, with: []), let theirs = await create(as: other, with: []) else { return }
        while !Task.isCancelled {
            let ids = (0..<Self.crossed).map { _ in "layer:///messages/\(generator.uuid())" }
            await withTaskGroup(of: Void.self) { group in
                for (first, last) in zip(ids, ids.reversed()) {
                    group.addTask { await send(first, to: mine, as: one) }
                    group.addTask { await send(last, to: theirs, as: other) }
                }
            }
            // 60 requests of each session in at least 400 ms are within the rate limit, regardless of the machine's
            // speed.
            try? await Task.sleep(for: .milliseconds(400))
        }
    }

    private func send(_ id: String, to conversation: Conversation, as user: TestUser) async {
        _ = await ask("POST", conversation.path + "/messages", TestUser.message("crossed", id: id), as: user)
        recorder.note(.crossedIDs)
    }

    // MARK: Requests

    private func create(as user: TestUser, with others: [TestUser]) async -> Conversation? {
        let id = Conversation.newID()
        let body: JSONValue = [
            "id": .string(id), "participants": .array(others.map { .string($0.identity) }), "distinct": false,
        ]
        return await ask("POST", "/conversations", body, as: user) ? Conversation(id: id) : nil
    }

    /// Makes a request and returns true if it succeeded.
    private func ask(_ method: String, _ path: String, _ body: JSONValue, as user: TestUser) async -> Bool {
        try? await Task.sleep(for: Self.pause)
        let answer = try? await user.client.call(
            method, path, body: body, token: user.token, deadline: .now + .seconds(10))
        if answer?.status == 429 {
            recorder.add(faults: ["\(user.user) was beyond the limits, and so may have done less harm than it could"])
        }
        return answer?.isSuccess ?? false
    }
}
