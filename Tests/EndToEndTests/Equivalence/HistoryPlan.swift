// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// A predetermined history: the operations of some users, and the states of their connections.
///
/// Steps of one round are concurrent. A round begins when the one before it has ended.
struct HistoryPlan: Sendable {
    struct Member: Sendable {
        let name: String
        var version = ProtocolVersion.v3
        var gateway = 0
        /// True if the member opens the first socket in the middle of the history, after loading the lists over REST.
        var isLate = false
    }

    enum Patch: Sendable {
        case add(Int)
        case remove(Int)
        case set(String, JSONValue)
        case delete(String)
    }

    /// An operation. Users, conversations and messages are referred to by index.
    enum Operation: Sendable {
        case create(Int, with: [Int], distinct: Bool, metadata: JSONValue?, overSocket: Bool)
        case patch(Int, [Patch])
        case send(Int, parts: JSONValue, notification: JSONValue?, overSocket: Bool)
        case deleteMessage(Int, forAll: Bool)
        case deleteConversation(Int, query: String)
        /// A deletion from the own devices, up to a message at 0 to 100 percent of those the user holds.
        case deleteUpTo(Int, percent: Int, leaves: Bool)
        case receipt(Int, String)
        /// Receipts of several messages, in one request for the conversation of the first message.
        case receipts([Int], String)
        /// `upTo` is the read position as a percentage, 0 to 100, of the messages the reader holds. nil sends no
        /// position.
        case markAllRead(Int, upTo: Int?)
        /// An operation of the app's own server, on behalf of no user.
        case byServer(ServerOperation)
        /// Blocks or unblocks another member.
        case block(Int, Bool)
        case drop(losing: Bool)
        case connect(via: Int)
        case openLate(via: Int)
    }

    enum ServerOperation: Sendable {
        case create(Int, with: [Int])
        case patch(Int, [Patch])
        /// A message sent under a name instead of a user.
        case send(Int)
        /// Replaces the parts with a single new text.
        case edit(Int)
        case deleteMessage(Int)
        case deleteConversation(Int)
    }

    struct Step: Sendable {
        let actor: Int
        let operation: Operation
    }

    /// A message and the conversation it is sent to.
    struct Message: Sendable {
        let id: String
        let conversation: Int
    }

    /// An identifier for reports.
    let name: String
    /// The repetition of the history, from 0. Each repetition has its own ids.
    var time = 0
    var members: [Member]
    var conversations: [String] = []
    var messages: [Message] = []
    var rounds: [[Step]] = []
    /// The index of a round before which the connected clients are compared, too. The following rounds then change a
    /// verified state.
    var snapshotBefore: Int?
    /// Members who lose the connection at the end and get the whole history replayed onto their state.
    var replayAgain: [Int] = []
    /// True if, after the comparison, one more message goes to every conversation and all clients are compared again.
    var endsWithMessages = false
    /// True if every operation must succeed: in a hand-written plan, but not in a random one.
    var mustSucceed = false

    /// Returns the conversations in which this member was not a participant all the time.
    func interrupted(_ member: Int) -> Set<String> {
        var found: Set<String> = []
        for step in rounds.joined() {
            let (conversation, patches): (Int, [Patch])
            switch step.operation {
            case .patch(let index, let made), .byServer(.patch(let index, let made)):
                (conversation, patches) = (index, made)
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

    /// Returns true if there is ever a block between this member and another one. Messages may then be hidden from the
    /// member, who is not told their positions.
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
