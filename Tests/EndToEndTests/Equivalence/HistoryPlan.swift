// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// What some users do, and how their connections fare, decided beforehand.
///
/// Steps of one round happen at the same time; a round begins when the one before it has ended.
struct HistoryPlan: Sendable {
    struct Member: Sendable {
        let name: String
        var version = ProtocolVersion.v3
        var gateway = 0
        /// Whether the first socket is opened in the middle of it all, after the lists have been loaded over REST.
        var isLate = false
    }

    enum Patch: Sendable {
        case add(Int)
        case remove(Int)
        case set(String, JSONValue)
        case delete(String)
    }

    /// Users, conversations and messages are numbers.
    enum Operation: Sendable {
        case create(Int, with: [Int], distinct: Bool, metadata: JSONValue?, overSocket: Bool)
        case patch(Int, [Patch])
        case send(Int, parts: JSONValue, notification: JSONValue?, overSocket: Bool)
        case deleteMessage(Int, forAll: Bool)
        case deleteConversation(Int, query: String)
        /// From the own devices, up to a message from 0 to 100 percent of those the user holds.
        case deleteUpTo(Int, percent: Int, leaves: Bool)
        case receipt(Int, String)
        /// Of several messages, in one request for the conversation of the first.
        case receipts([Int], String)
        /// Up to where the reader has read of what they hold, from 0 to 100; nil sends no position.
        case markAllRead(Int, upTo: Int?)
        /// By the app's own server, for no user.
        case byServer(ServerOperation)
        /// Another member is blocked, or not any more.
        case block(Int, Bool)
        case drop(losing: Bool)
        case connect(via: Int)
        case openLate(via: Int)
    }

    enum ServerOperation: Sendable {
        case create(Int, with: [Int])
        case patch(Int, [Patch])
        /// Under a name.
        case send(Int)
        /// Another text as the only part.
        case edit(Int)
        case deleteMessage(Int)
        case deleteConversation(Int)
    }

    struct Step: Sendable {
        let actor: Int
        let operation: Operation
    }

    /// Where a message goes.
    struct Message: Sendable {
        let id: String
        let conversation: Int
    }

    /// To find it again by.
    let name: String
    /// The how many-eth time it is carried out, from 0: each has ids of its own.
    var time = 0
    var members: [Member]
    var conversations: [String] = []
    var messages: [Message] = []
    var rounds: [[Step]] = []
    /// Before this round all who are there are compared, too; what follows changes what they are known to hold.
    var snapshotBefore: Int?
    /// Members who lose the connection after everything, and have the whole history replayed onto what they hold.
    var replayAgain: [Int] = []
    /// Whether one more message goes to every conversation when all have been compared, and all are compared again.
    var endsWithMessages = false
    /// Whether each operation has to be done: in a planned course of events, but not in a random one.
    var mustSucceed = false

    /// The conversations in which this member was not from the beginning, or not all the time.
    func interrupted(_ member: Int) -> Set<String> {
        var found: Set<String> = []
        for step in rounds.joined() {
            let (conversation, patches): (Int, [Patch])
            switch step.operation {
            case .patch(let index, let made), .byServer(.patch(let index, let made)): (conversation, patches) = (index, made)
            default: continue
            }
            for patch in patches {
                switch patch {
                case .add(member), .remove(member): found.insert(conversations[conversation])
                case .add, .remove, .set, .delete: break
                }
            }
        }
        for step in rounds.joined() where step.actor == member {
            if case .deleteConversation(let conversation, let query) = step.operation, query.contains("leave=true") {
                found.insert(conversations[conversation])
            } else if case .deleteUpTo(let conversation, _, leaves: true) = step.operation {
                found.insert(conversations[conversation])
            }
        }
        return found
    }

    /// Whether there is ever a block between this member and another: messages may be hidden from the member, who is not told of their positions.
    func hasBlocks(_ member: Int) -> Bool {
        rounds.joined()
            .contains { step in
                guard case .block(let other, _) = step.operation else { return false }
                return step.actor == member || other == member
            }
    }
}

extension HistoryPlan {
    mutating func newConversation(_ generator: inout SeededGenerator) -> Int {
        conversations.append("layer:///conversations/\(newID(&generator))")
        return conversations.count - 1
    }

    mutating func newMessage(in conversation: Int, _ generator: inout SeededGenerator) -> Int {
        messages.append(Message(id: "layer:///messages/\(newID(&generator))", conversation: conversation))
        return messages.count - 1
    }

    private func newID(_ generator: inout SeededGenerator) -> String {
        let id = generator.uuid()
        guard time > 0 else { return id }
        let digits = String(time, radix: 16)
        return id.dropLast(digits.count) + digits
    }
}
