// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Ana with two devices and Ben with two sockets, on different gateways, and a conversation known to all of them.
struct Scene: Sendable {
    let fixture: Fixture
    let ana: User
    let anaElsewhere: User
    let ben: User
    /// The socket of ``ana``, which acts.
    let acting: ProtocolSocket
    let own: ProtocolSocket
    /// Sockets of one session of Ben, one on each gateway.
    let other: ProtocolSocket
    let otherToo: ProtocolSocket
    let conversation: String

    init(_ f: Fixture, metadata: JSONValue? = nil, distinct: Bool = false, inviting others: [User] = []) async throws {
        fixture = f
        ana = try await f.user("ana", gateway: 0)
        anaElsewhere = try await f.user("ana", gateway: 1)
        ben = try await f.user("ben", gateway: 1)
        // Create the conversation before the sockets. Their replays then contain it. A user who is added while a socket
        // is open may receive some of the following changes from the log. The user's counts may then be repeated at the
        // end.
        conversation = try await ana.converse([ben.id] + others.map(\.id), metadata: metadata, distinct: distinct)
        acting = try await Self.open(ana)
        own = try await Self.open(anaElsewhere)
        other = try await Self.open(ben)
        otherToo = try await Self.open(ben, gateway: 0)
        for socket in [acting, own, other, otherToo] { try await socket.change("create", "Conversation", conversation) }
    }

    /// Opens a socket and waits until it is up to date. The answer to a replay ensures this; without one, the catch-up
    /// ends some time after opening.
    private static func open(_ user: User, gateway: Int? = nil) async throws -> ProtocolSocket {
        let socket = try await user.silentSocket(gateway: gateway)
        let now = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        try await socket.does("Event.replay", nil, ["from_timestamp": .string(now)])
        return socket
    }

    /// All sockets: Ana's acting one, Ana's other one, and Ben's two.
    var all: [ProtocolSocket] { [acting, own, other, otherToo] }

    /// Returns the packets, without responses, that an action causes on each socket: all that arrive before a fence
    /// message sent after it.
    /// - Parameters:
    ///   - sockets: The sockets; nil: ``all``.
    ///   - conversation: The conversation of the fence message; nil: ``conversation``. All listeners must be in it and
    ///     must know it.
    ///   - sender: The sender of the fence message; nil: Ana.
    func seen(
        on sockets: [ProtocolSocket]? = nil, fence conversation: String? = nil, by sender: User? = nil,
        _ action: () async throws -> Void
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
            // Wait for the fence's own update, so that it is not attributed to a later action.
            _ = try await socket.nextPacket("the fence's update", deadline: Fixture.deadline) {
                $0.index > fence.index && $0.isChange("update", of: "Conversation")
                    && $0.data.operation("last_message") != nil
            }
        }
        return result
    }

    /// Returns the packets that an action causes on each socket, if it concerns other conversations than the fence's,
    /// or none. Conversations are not ordered among each other, so the expected number of packets is awaited before the
    /// fence is sent.
    /// - Parameters:
    ///   - counts: The expected number of packets for each of ``all``.
    ///   - fence: A conversation that all users know and in which nothing else happens.
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

    /// Starts typing as Ana and renews it every 2.5 s, as clients do, until both of Ben's sockets have received it.
    /// Signals are not queued for a socket that is still joining the conversation, or that is not connected.
    @discardableResult
    func startTyping() async throws -> ReceivedPacket {
        for _ in 0..<10 {
            try await acting.typing("started", in: conversation)
            let conversation = conversation
            let isSeen: @Sendable ([ReceivedPacket]) -> Bool = {
                $0.contains { $0.isTyping("started", conversation: conversation) }
            }
            for socket in [other, otherToo] { await socket.wait(for: .milliseconds(2500), until: isSeen) }
            if isSeen(other.history), isSeen(otherToo.history) { break }
        }
        try await otherToo.typingSeen("started", in: conversation)
        return try await other.typingSeen("started", in: conversation)
    }

    /// Sends a message and waits until every socket has it, with its accompanying updates.
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
