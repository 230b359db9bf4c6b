// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import Synchronization

/// Attacks by an app whose events are numerous, large, or not accepted.
extension HostileAttack {
    /// The maximum number of webhooks of one app.
    private static let webhooks = 20
    /// A delay just below a quarter of `STRATA_WEBHOOKS_TIMEOUT`. Webhooks with slower receivers share half of the
    /// capacity.
    private static let slowAnswer = TimeAmount.milliseconds(2400)
    /// The number of conversations to which one user sends messages in rotation.
    private static let conversationsOfUser = 16
    /// The sizes of metadata in bytes: a tree that events include, and one that they omit.
    private static let trees = (told: 240_000, leftOut: 1_000_000)

    /// Creates the webhooks of the pattern and the conversations of their events, and waits until the webhooks are
    /// active.
    mutating func prepareWebhooks() async throws {
        switch pattern {
        case .webhookSnapshots: try await register(["Conversation.updated"], .accept)
        case .fullOutbox: try await register(["Conversation.updated"], .neverAnswer)
        case .webhookReceipts: try await register(["message.delivered", "message.read"], .accept, version: "1.0")
        case .slowReceivers: try await register(["Message.created"], .acceptAfter(Self.slowAnswer))
        case .stalledReceivers: try await register(["Message.created"], .neverAnswer)
        default: return
        }
        switch pattern {
        case .webhookSnapshots, .fullOutbox:
            for user in Self.users {
                conversations.append(
                    try await tree(as: user, to: user.isMultiple(of: 2) ? Self.trees.told : Self.trees.leftOut))
            }
        case .webhookReceipts: try await prepareReceipts()
        default:
            for user in Self.users {
                for _ in 0..<Self.conversationsOfUser {
                    conversations.append(
                        try await system.conversation(of: [user, (user + 1) % Self.users.count], as: user))
                }
            }
        }
        try await system.awaitActiveWebhooks()
    }

    /// Registers the webhooks, each with its own receiver, so that the limit of a host does not slow them down.
    private mutating func register(
        _ events: [String], _ behaviour: HookReceiver.Behaviour, version: String = "3.0"
    ) async throws {
        for _ in 0..<Self.webhooks {
            let receiver = try await HookReceiver.start(behaviour, on: group)
            receivers.append(receiver)
            _ = try await system.register(receiver.url, events: events, version: version)
        }
    }

    /// Makes small changes, one at a time.
    func change(as user: Int) async -> (Int, Int) {
        if conversations.count == Self.users.count {
            return await paced { number in
                await patch(
                    conversations[user], as: user,
                    "[{\"operation\":\"set\",\"property\":\"metadata.hot\",\"value\":\"\(number)\"}]")
            }
        }
        return await paced { number in
            let place = user * Self.conversationsOfUser + number % Self.conversationsOfUser
            return await call(
                .POST, "/conversations/\(conversations[place])/messages", as: user,
                "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
        }
    }

    // MARK: Receipts

    /// Creates four conversations with short messages and one with long ones, with the same participants. The last
    /// conversation is read one message at a time.
    private mutating func prepareReceipts() async throws {
        var rooms: [HostileReceipts.Room] = []
        for (messages, parts) in [(1000, 1), (1000, 1), (1000, 1), (248, 120), (1000, 1)] {
            let id = try await system.conversation(of: 0..<HostileReceipts.users, as: 0)
            await fill(id, messages, parts: parts, as: 0)
            rooms.append(.init(id: id, messages: try await ids(of: id, messages)))
        }
        receipts = HostileReceipts(readers: HostileReceipts.users - 1, conversations: rooms)
    }

    /// Sends receipts for a whole conversation with each request, one request at a time, until all users have read all
    /// messages.
    func giveManyReceipts() async -> (Int, Int) {
        var (answered, succeeded) = (0, 0)
        while !Task.isCancelled, let next = receipts.nextBatch() {
            let path = "/conversations/\(next.room.id)"
            let outcome: Outcome
            if next.isRead, next.reader.isMultiple(of: 2) {
                outcome = await call(.POST, "\(path)/mark_all_read", as: next.reader)
            } else {
                let ids = next.room.messages.prefix(1000).map { "\"layer:///messages/\($0)\"" }.joined(separator: ",")
                let kind = next.isRead ? "read" : "delivery"
                outcome = await call(
                    .POST, "\(path)/receipts", as: next.reader, "{\"type\":\"\(kind)\",\"ids\":[\(ids)]}")
            }
            if outcome != .cancelled { answered += 1 }
            if outcome == .success { succeeded += 1 }
        }
        return (answered, succeeded)
    }

    /// Sends one receipt with each request.
    /// - Parameter half: The half of the readers, 0 or 1.
    func giveReceipts(from half: Int) async -> (Int, Int) {
        await paced { number in
            guard let next = receipts.single(number, half: half) else {
                try? await Task.sleep(for: .seconds(1))
                return .cancelled
            }
            return await call(
                .POST, "/messages/\(next.message)/receipts", as: next.reader,
                "{\"type\":\"\(next.isRead ? "read" : "delivery")\"}")
        }
    }
}

/// The receipts that have not been sent. Each has an effect only once.
final class HostileReceipts: Sendable {
    struct Room: Sendable {
        let id: String
        let messages: [String]
    }

    /// The number of participants of each conversation, including the sender. It is the maximum at which all
    /// participants are notified of receipts.
    static let users = 25

    /// The number of readers: all users except the first.
    private let readers: Int
    private let rooms: [Room]
    private let given = Atomic<Int>(0)

    /// - Parameter conversations: The conversations; the last one is for single receipts.
    init(readers: Int, conversations: [Room]) { (self.readers, rooms) = (readers, conversations) }

    /// Returns the next reader and conversation; nil if all receipts have been sent. Delivery precedes reading.
    func nextBatch() -> (room: Room, reader: Int, isRead: Bool)? {
        let count = readers * (rooms.count - 1)
        let number = given.wrappingAdd(1, ordering: .relaxed).oldValue
        guard count > 0, number < 2 * count else { return nil }
        return (rooms[number % (rooms.count - 1)], 1 + number % count / (rooms.count - 1), number >= count)
    }

    /// Returns the receipt with this number; nil if all have been sent.
    func single(_ number: Int, half: Int) -> (message: String, reader: Int, isRead: Bool)? {
        guard let messages = rooms.last?.messages, !messages.isEmpty else { return nil }
        let count = readers / 2 * messages.count
        guard number < 2 * count else { return nil }
        return (
            messages[number % messages.count], 1 + half * (readers / 2) + number % count / messages.count,
            number >= count
        )
    }
}
