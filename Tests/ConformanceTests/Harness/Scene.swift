// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Ana with two devices, Ben with two, on different gateways, and a conversation of theirs that all of them know.
struct Scene: Sendable {
    let fixture: Fixture
    let ana: User
    /// Another session of Ana's.
    let anaElsewhere: User
    let ben: User
    /// The socket of ``ana``, the one that acts.
    let acting: ProtocolSocket
    /// The socket of ``anaElsewhere``.
    let own: ProtocolSocket
    /// Sockets of one session of Ben's, on either gateway.
    let other: ProtocolSocket
    let otherToo: ProtocolSocket
    let conversation: String

    init(_ f: Fixture, metadata: JSONValue? = nil, distinct: Bool = false, inviting others: [User] = []) async throws {
        fixture = f
        ana = try await f.user("ana", gateway: 0)
        anaElsewhere = try await f.user("ana", gateway: 1)
        ben = try await f.user("ben", gateway: 1)
        // Before the sockets: with the answers to their replays they are in it. A user who is added while a socket is open may be sent a little of
        // what comes then from the log, and the user's numbers once more at the end.
        conversation = try await ana.converse([ben.id] + others.map(\.id), metadata: metadata, distinct: distinct)
        acting = try await Self.open(ana)
        own = try await Self.open(anaElsewhere)
        other = try await Self.open(ben)
        otherToo = try await Self.open(ben, gateway: 0)
        for socket in [acting, own, other, otherToo] { try await socket.change("create", "Conversation", conversation) }
    }

    /// A socket that is up to date: with the answer to a replay everything before it has come, which otherwise happens some time after opening.
    private static func open(_ user: User, gateway: Int? = nil) async throws -> ProtocolSocket {
        let socket = try await user.silentSocket(gateway: gateway)
        let now = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        try await socket.does("Event.replay", nil, ["from_timestamp": .string(now)])
        return socket
    }

    /// All sockets: Ana's acting one, Ana's other one, Ben's two.
    var all: [ProtocolSocket] { [acting, own, other, otherToo] }

    /// What every socket is sent by an action, responses aside: what comes before a message that is sent after it.
    /// - Parameters:
    ///   - sockets: which ones; nil: ``all``.
    ///   - conversation: where that message is sent; nil: ``conversation``. All who listen must be in it, and have been told of it.
    ///   - sender: who sends it; nil: Ana.
    func seen(
        on sockets: [ProtocolSocket]? = nil, fence conversation: String? = nil, by sender: User? = nil, _ action: () async throws -> Void
    ) async throws -> [[ReceivedPacket]] {
        let sockets = sockets ?? all
        let starts = sockets.map(\.receivedCount)
        try await action()
        let text = "fence \(Layer.uuid())"
        try await (sender ?? ana).send(text, to: conversation ?? self.conversation)
        var result: [[ReceivedPacket]] = []
        for (socket, start) in zip(sockets, starts) {
            let fence = try await socket.message(text)
            result.append(socket.news(in: start..<fence.index))
            // What the fence itself brings must not be taken for what a later action brings.
            _ = try await socket.nextPacket("the fence's update", deadline: Fixture.deadline) {
                $0.index > fence.index && $0.isChange("update", of: "Conversation") && $0.data.operation("last_message") != nil
            }
        }
        return result
    }

    /// What every socket is sent by an action in other conversations than the one of the fence, or in none. There is no order between conversations,
    /// so the number of packets that should come is waited for first.
    /// - Parameters:
    ///   - counts: how many packets each of ``all`` should be sent.
    ///   - fence: a conversation that all know and in which nothing else happens.
    func seen(_ counts: [Int], fence: String, _ action: () async throws -> Void) async throws -> [[ReceivedPacket]] {
        let starts = all.map(\.receivedCount)
        try await action()
        let text = "fence \(Layer.uuid())"
        for (index, socket) in all.enumerated() {
            let (start, count) = (starts[index], counts[index])
            await socket.wait { $0.filter { $0.index >= start && $0.type != "response" }.count >= count }
        }
        try await ana.send(text, to: fence)
        var result: [[ReceivedPacket]] = []
        for (socket, start) in zip(all, starts) {
            let end = try await socket.message(text)
            result.append(socket.news(in: start..<end.index))
        }
        return result
    }

    /// Ana begins to type, and goes on every 2.5 s as clients do, until both of Ben's sockets see it: signals are not kept for a socket that is still joining a
    /// conversation, or for one that is not there.
    @discardableResult
    func startTyping() async throws -> ReceivedPacket {
        for _ in 0..<10 {
            try await acting.typing("started", in: conversation)
            let conversation = conversation
            let isSeen: @Sendable ([ReceivedPacket]) -> Bool = { $0.contains { $0.isTyping("started", conversation: conversation) } }
            for socket in [other, otherToo] { await socket.wait(for: .milliseconds(2500), until: isSeen) }
            if isSeen(other.history), isSeen(otherToo.history) { break }
        }
        try await otherToo.typingSeen("started", in: conversation)
        return try await other.typingSeen("started", in: conversation)
    }

    /// Sends a message that every socket has when this returns, with what comes along with it.
    @discardableResult
    func sent(_ text: String, by sender: User? = nil) async throws -> String {
        let id = try await (sender ?? ana).sendID(text, to: conversation)
        for socket in all {
            try await socket.message(text)
            try await socket.change("update", "Conversation", conversation) { $0.has("set", "last_message", id: id) }
        }
        return id
    }
}
