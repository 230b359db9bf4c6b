// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Four sessions of hostile users, with their prepared data. Each stays below 200 requests per second, the sustained
/// rate limit of a session.
///
/// The patterns of another app are in `HostileAttack+Webhooks.swift` and `HostileAttack+Sockets.swift`.
struct HostileAttack: Sendable {
    static let users = 0..<4
    /// The rate of one session in requests per second, followed by its maximum number of concurrent requests.
    static let rate = 180.0
    private static let lanes = 6
    /// The largest metadata tree to try, if the server has no limit.
    private static let largestTree = 8 << 20
    private static let messages = 4000

    let pattern: HostilePattern
    let system: BenchSystem
    let client: HTTPClient
    let group: any EventLoopGroup
    var conversations: [String] = []
    /// The ids of the messages in the shared conversation, newest first.
    private var messageIDs: [String] = []
    var receivers: [HookReceiver] = []
    var receipts = HostileReceipts(readers: 0, conversations: [])
    /// A random number that makes the ids of different attacks unique.
    private let salt = UInt32.random(in: .min ... .max)

    private init(_ pattern: HostilePattern, _ system: BenchSystem, _ client: HTTPClient, _ group: any EventLoopGroup) {
        (self.pattern, self.system, self.client, self.group) = (pattern, system, client, group)
    }

    /// Creates the data of the pattern: large trees and long conversations.
    /// - Parameters:
    ///   - shared: A conversation of the victim, all attackers and the filler.
    ///   - filler: The user who fills `shared` with messages.
    static func prepare(
        _ pattern: HostilePattern, in shared: String, filledBy filler: Int, _ system: BenchSystem, _ client: HTTPClient,
        _ group: any EventLoopGroup
    ) async throws -> HostileAttack {
        var attack = HostileAttack(pattern, system, client, group)
        switch pattern {
        case .largeTrees:
            for user in users { attack.conversations.append(try await attack.tree(as: user, to: largestTree)) }
        case .sparseReceipts, .sparseBatches:
            await attack.fill(shared, messages, parts: 1, as: filler)
            attack.messageIDs = try await attack.ids(of: shared, messages)
        case .slowReaders, .hugeLists:
            for user in users { attack.conversations.append(try await attack.tree(as: user, to: 1 << 20)) }
            // The victim is not a participant, so that the victim's own answers stay short.
            let own = try await system.conversation(of: users, as: 0)
            await attack.fill(own, 200, parts: 100, as: 0)
            attack.conversations.append(own)
        case .crossedIDs:
            for user in users { attack.conversations.append(try await system.conversation(of: [user], as: user)) }
        case .manyConversations, .identityLookups: break
        case .typingStorms: attack.conversations = [shared]
        case .webhookSnapshots, .fullOutbox, .webhookReceipts, .slowReceivers, .stalledReceivers, .crowdedFrames,
            .fragments:
            break
        }
        return attack
    }

    /// Prepares an attack of another app: metadata, messages, and webhooks, which are then active. ``end()`` must
    /// follow.
    /// - Parameters:
    ///   - system: The tenant of the hostile app.
    ///   - client: The HTTP client with the attackers' address.
    static func prepareApp(
        _ pattern: HostilePattern, _ system: BenchSystem, _ client: HTTPClient, _ group: any EventLoopGroup
    ) async throws -> HostileAttack {
        var attack = HostileAttack(pattern, system, client, group)
        do {
            try await system.signIn(users: HostileReceipts.users)
            try await attack.prepareWebhooks()
            if pattern == .crowdedFrames {
                for user in users { attack.conversations.append(try await system.conversation(of: [user], as: user)) }
            }
        } catch {
            await attack.end()
            throw error
        }
        return attack
    }

    func end() async { for receiver in receivers { await receiver.stop() } }

    /// Attacks until the task is cancelled.
    /// - Returns: The number of answered requests, and of the successful ones.
    func run(against victim: Int) async -> (answered: Int, succeeded: Int) {
        await withTaskGroup(of: (Int, Int).self) { tasks in
            for user in Self.users { tasks.addTask { await session(user, victim) } }
            return await tasks.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    private func session(_ user: Int, _ victim: Int) async -> (Int, Int) {
        switch pattern {
        case .largeTrees:
            return await paced { number in
                let operation = number.isMultiple(of: 2) ? "add" : "remove"
                return await patch(
                    conversations[user], as: user,
                    "[{\"operation\":\"\(operation)\",\"property\":\"participants\",\"id\":\"layer:///identities/u\(victim)\"}]"
                )
            }
        case .sparseReceipts: return await paced { number in await read(number * 2, as: user) }
        case .sparseBatches:
            // The same number of requests per second, but in bursts.
            return await batches(of: 50) { number in await read(number * 2, as: user) }
        case .slowReaders: return await readNothing(as: user)
        // One task acts for two users, so that their requests are simultaneous.
        case .crossedIDs: return user.isMultiple(of: 2) ? await cross(user, user + 1) : (0, 0)
        case .manyConversations:
            return await paced { _ in
                await call(
                    .POST, "/conversations", as: user,
                    "{\"distinct\":false,\"participants\":[\"layer:///identities/u\(victim)\"]}")
            }
        case .identityLookups:
            return await paced { number in
                let name = UUID().uuidString
                if number.isMultiple(of: 2) { return await call(.GET, "/identities/\(name)", as: user) }
                return await call(.POST, "/following/users", as: user, "[\"layer:///identities/\(name)\"]")
            }
        case .typingStorms: return await type(as: user)
        case .hugeLists:
            return await paced { number in
                let list =
                    number.isMultiple(of: 2) ? "/conversations" : "/conversations/\(conversations.last ?? "")/messages"
                return await call(.GET, "\(list)?page_size=100", as: user)
            }
        case .webhookSnapshots, .fullOutbox, .slowReceivers, .stalledReceivers: return await change(as: user)
        case .webhookReceipts:
            return user.isMultiple(of: 2) ? await giveManyReceipts() : await giveReceipts(from: user / 2)
        case .crowdedFrames: return await crowd(as: user)
        case .fragments: return await fragment(as: user)
        }
    }

    // MARK: Preparation

    func tree(as user: Int, to limit: Int) async throws -> String {
        let id = try await system.conversation(of: [user], as: user)
        let value = String(repeating: "x", count: 2000)
        var (leaves, bytes, number) = (min(400, limit / 2000), 0, 0)
        while bytes < limit, leaves > 8 {
            number += 1
            let branch = (0..<leaves).map { "\"k\($0)\":\"\(value)\"" }.joined(separator: ",")
            let isTaken = await patch(
                id, as: user, "[{\"operation\":\"set\",\"property\":\"metadata.b\(number)\",\"value\":{\(branch)}}]")
            if isTaken == .success { bytes += leaves * 2000 } else { leaves /= 2 }
        }
        return id
    }

    func fill(_ conversation: String, _ count: Int, parts: Int, as user: Int) async {
        let part = "{\"mime_type\":\"text/plain\",\"body\":\"\(String(repeating: "x", count: parts > 1 ? 2000 : 20))\"}"
        let body = "{\"parts\":[\(Array(repeating: part, count: parts).joined(separator: ","))]}"
        let lanes = 8
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<lanes {
                tasks.addTask {
                    for _ in 0..<count / lanes {
                        _ = await call(.POST, "/conversations/\(conversation)/messages", as: user, body)
                    }
                }
            }
        }
    }

    /// Returns the ids of the newest messages, newest first.
    func ids(of conversation: String, _ count: Int) async throws -> [String] {
        var ids: [String] = []
        while ids.count < count {
            let from = ids.last.map { "&from_id=layer:///messages/\($0)" } ?? ""
            let page = try await system.messageIDs(
                "/conversations/\(conversation)/messages?page_size=100\(from)", as: 0, by: client)
            if page.isEmpty { break }
            ids += page
        }
        return ids
    }

    // MARK: Attacks

    private func read(_ number: Int, as user: Int) async -> Outcome {
        guard !messageIDs.isEmpty else { return .failure }
        return await call(
            .POST, "/messages/\(messageIDs[number % messageIDs.count])/receipts", as: user, "{\"type\":\"read\"}")
    }

    /// Sends messages with the same ids to two conversations, in opposite orders.
    private func cross(_ one: Int, _ other: Int) async -> (Int, Int) {
        await batches(of: 100) { number in
            let (batch, place) = (number / 100, number % 50)
            let user = number % 100 < 50 ? one : other
            let index = UInt64(batch * 50 + (user == one ? place : 49 - place))
            let id = String(format: "%08x-%04x-4000-8000-%012llx", salt, UInt32(one), index)
            return await call(
                .POST, "/conversations/\(conversations[user])/messages", as: user,
                "{\"id\":\"\(id)\",\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
        }
    }

    private func type(as user: Int) async -> (Int, Int) {
        guard let conversation = conversations.first,
            let socket = try? await LoadSocket.open(port: system.gatewayPort, token: system.token(user), on: group)
        else { return (0, 0) }
        let result = await paced { number in
            let action = number.isMultiple(of: 2) ? "started" : "finished"
            socket.send(
                """
                {"type":"signal","body":{"type":"typing_indicator","object":{"id":"layer:///conversations/\(conversation)"},"data":{"action":"\(action)"}}}
                """)
            return .success
        }
        socket.close()
        return result
    }

    /// Opens eight sockets and makes eight requests without reading the answers, and repeats this every two seconds.
    private func readNothing(as user: Int) async -> (Int, Int) {
        var asked = 0
        let token = system.token(user)
        let lists = ["/conversations", "/conversations/\(conversations.last ?? "")/messages"]
        while !Task.isCancelled {
            var channels: [any Channel] = []
            for number in 0..<8 {
                let head =
                    "Host: localhost\r\nAccept: application/vnd.layer+json; version=3.0\r\nAuthorization: Layer session-token=\"\(token)\"\r\n"
                let request = "GET \(lists[number % 2])?page_size=100 HTTP/1.1\r\n\(head)\r\n"
                let connection = try? await ClientBootstrap(group: group).channelOption(.autoRead, value: false)
                    .channelOption(.socketOption(.so_rcvbuf), value: 16_384)
                    .connect(host: "127.0.0.1", port: system.gatewayPort).get()
                if let connection {
                    connection.writeAndFlush(ByteBuffer(string: request), promise: nil)
                    channels.append(connection)
                    asked += 1
                }
                if let socket = try? await HostileVictim.replayingSocket(system, user, receiveBuffer: 16_384, group) {
                    try? await socket.pauseReading()
                    if let channel = try? await socket.read({ $0.connection }) { channels.append(channel) }
                    asked += 1
                }
            }
            try? await Task.sleep(for: .seconds(2))
            for channel in channels { channel.close(promise: nil) }
        }
        return (asked, asked)
    }

    // MARK: Requests

    enum Outcome { case success, failure, cancelled }

    func patch(_ conversation: String, as user: Int, _ body: String) async -> Outcome {
        await call(.PATCH, "/conversations/\(conversation)", as: user, body)
    }

    func call(_ method: HTTPMethod, _ path: String, as user: Int, _ body: String? = nil) async -> Outcome {
        let status = try? await system.call(method, path, as: user, body, by: client)
        if Task.isCancelled { return .cancelled }
        return (200..<300).contains(status ?? 0) ? .success : .failure
    }

    /// Makes requests in several concurrent sequences, whose total rate does not exceed ``rate``.
    func paced(_ body: @escaping @Sendable (Int) async -> Outcome) async -> (Int, Int) {
        await withTaskGroup(of: (Int, Int).self) { tasks in
            for lane in 0..<Self.lanes {
                tasks.addTask {
                    var (answered, succeeded, number) = (0, 0, lane)
                    var next = ContinuousClock.now + .seconds(Double(lane) / Self.rate)
                    while !Task.isCancelled {
                        try? await Task.sleep(until: next, clock: .continuous)
                        next = max(next + .seconds(Double(Self.lanes) / Self.rate), .now)
                        switch await body(number) {
                        case .success: (answered, succeeded) = (answered + 1, succeeded + 1)
                        case .failure: answered += 1
                        case .cancelled: break
                        }
                        number += Self.lanes
                    }
                    return (answered, succeeded)
                }
            }
            return await tasks.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    /// Makes `size` concurrent requests, then pauses until the rate limits allow the next batch.
    private func batches(of size: Int, _ body: @escaping @Sendable (Int) async -> Outcome) async -> (Int, Int) {
        var (answered, succeeded, number) = (0, 0, 0)
        while !Task.isCancelled {
            let next =
                ContinuousClock.now + .seconds(Double(size) / (pattern == .crossedIDs ? 2 * Self.rate : Self.rate))
            let (first, end) = (number, number + size)
            let outcomes = await withTaskGroup(of: Outcome.self) { tasks in
                for number in first..<end { tasks.addTask { await body(number) } }
                return await tasks.reduce(into: [Outcome]()) { $0.append($1) }
            }
            answered += outcomes.count { $0 != .cancelled }
            succeeded += outcomes.count { $0 == .success }
            number = end
            try? await Task.sleep(until: next, clock: .continuous)
        }
        return (answered, succeeded)
    }
}
