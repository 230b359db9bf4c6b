// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import Synchronization

/// Attacks of an app whose events are many, large, or not accepted.
extension HostileAttack {
    /// The most webhooks of one app.
    private static let webhooks = 20
    /// Just below a quarter of `STRATA_WEBHOOKS_TIMEOUT`; webhooks whose receivers take longer share half of the room.
    private static let slowAnswer = TimeAmount.milliseconds(2400)
    /// The conversations of one user that messages are sent to, in turn.
    private static let conversationsOfUser = 16
    /// Bytes of metadata: a tree that events contain, and one that they leave out.
    private static let trees = (told: 240_000, leftOut: 1_000_000)

    /// Makes the webhooks of the pattern, and the conversations that their events are of. Waits until the webhooks are active.
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
                conversations.append(try await tree(as: user, to: user.isMultiple(of: 2) ? Self.trees.told : Self.trees.leftOut))
            }
        case .webhookReceipts: try await prepareReceipts()
        default:
            for user in Self.users {
                for _ in 0..<Self.conversationsOfUser {
                    conversations.append(try await system.conversation(of: [user, (user + 1) % Self.users.count], as: user))
                }
            }
        }
        try await system.awaitActiveWebhooks()
    }

    /// Registers the webhooks, each with a receiver of its own, so that the bound of a host does not slow them down.
    private mutating func register(_ events: [String], _ behaviour: HookReceiver.Behaviour, version: String = "3.0") async throws {
        for _ in 0..<Self.webhooks {
            let receiver = try await HookReceiver.start(behaviour, on: group)
            receivers.append(receiver)
            _ = try await system.register(receiver.url, events: events, version: version)
        }
    }

    /// Makes one small change after the other.
    func change(as user: Int) async -> (Int, Int) {
        if conversations.count == Self.users.count {
            return await paced { number in
                await patch(conversations[user], as: user, "[{\"operation\":\"set\",\"property\":\"metadata.hot\",\"value\":\"\(number)\"}]")
            }
        }
        return await paced { number in
            let place = user * Self.conversationsOfUser + number % Self.conversationsOfUser
            return await call(
                .POST, "/conversations/\(conversations[place])/messages", as: user, "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
        }
    }

    // MARK: Receipts

    /// Four conversations of short messages and one of long ones, with the same participants. The last one of short messages is read message by message.
    private mutating func prepareReceipts() async throws {
        var rooms: [HostileReceipts.Room] = []
        for (messages, parts) in [(1000, 1), (1000, 1), (1000, 1), (248, 120), (1000, 1)] {
            let id = try await system.conversation(of: 0..<HostileReceipts.users, as: 0)
            await fill(id, messages, parts: parts, as: 0)
            rooms.append(.init(id: id, messages: try await ids(of: id, messages)))
        }
        receipts = HostileReceipts(readers: HostileReceipts.users - 1, conversations: rooms)
    }

    /// Gives receipts of a whole conversation with each request, one request after the other, until all messages are read by all users.
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
                outcome = await call(.POST, "\(path)/receipts", as: next.reader, "{\"type\":\"\(kind)\",\"ids\":[\(ids)]}")
            }
            if outcome != .cancelled { answered += 1 }
            if outcome == .success { succeeded += 1 }
        }
        return (answered, succeeded)
    }

    /// Gives one receipt with each request.
    /// - Parameter half: 0 or 1, of the readers.
    func giveReceipts(from half: Int) async -> (Int, Int) {
        await paced { number in
            guard let next = receipts.single(number, half: half) else {
                try? await Task.sleep(for: .seconds(1))
                return .cancelled
            }
            return await call(.POST, "/messages/\(next.message)/receipts", as: next.reader, "{\"type\":\"\(next.isRead ? "read" : "delivery")\"}")
        }
    }
}

/// Receipts that have not been given. Each has an effect only once.
final class HostileReceipts: Sendable {
    struct Room: Sendable {
        let id: String
        let messages: [String]
    }

    /// The participants of each conversation, the sender included: the most of whom all are told of receipts.
    static let users = 25

    /// All but the first user.
    private let readers: Int
    private let rooms: [Room]
    private let given = Atomic<Int>(0)

    /// - Parameter conversations: the last one is for single receipts.
    init(readers: Int, conversations: [Room]) { (self.readers, rooms) = (readers, conversations) }

    /// Returns the next reader and conversation; nil if all receipts have been given. Delivery comes before reading.
    func nextBatch() -> (room: Room, reader: Int, isRead: Bool)? {
        let count = readers * (rooms.count - 1)
        let number = given.wrappingAdd(1, ordering: .relaxed).oldValue
        guard count > 0, number < 2 * count else { return nil }
        return (rooms[number % (rooms.count - 1)], 1 + number % count / (rooms.count - 1), number >= count)
    }

    /// Returns the receipt of this number; nil if all have been given.
    func single(_ number: Int, half: Int) -> (message: String, reader: Int, isRead: Bool)? {
        guard let messages = rooms.last?.messages, !messages.isEmpty else { return nil }
        let count = readers / 2 * messages.count
        guard number < 2 * count else { return nil }
        return (messages[number % messages.count], 1 + half * (readers / 2) + number % count / messages.count, number >= count)
    }
}
