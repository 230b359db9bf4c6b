// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

@testable import StrataKit

// Use the library's types, not those of the services with the same names.
typealias RecipientStatus = StrataKit.RecipientStatus
typealias DeletionMode = StrataKit.DeletionMode

/// The database of the model server. A value, so that an earlier state can be restored.
struct ModelDatabase: Sendable {
    var conversations: [ConversationID: ModelConversation] = [:]
    /// The conversations of all messages, including deleted ones.
    var places: [MessageID: ConversationID] = [:]
    var users: [UserID: ModelUser] = [:]
    var idempotencyRecords: [ModelIdempotencyRecord.Key: ModelIdempotencyRecord] = [:]
    /// The number of the last entry in any log. Entries are numbered in commit order.
    var lastNumber = 0

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}

/// A REST change that was carried out with an idempotency key.
struct ModelIdempotencyRecord: Sendable {
    struct Key: Hashable, Sendable {
        var user: UserID
        var name: String
    }
    /// The method, path and body. The key must not be reused for another request.
    var request: String
    var status: Int
    var position: Int64?
    var userPosition: Int64?
}

struct ModelUser: Sendable {
    var log: [ModelUserEntry] = []
}

/// An entry in a user's own log.
struct ModelUserEntry: Sendable {
    enum Content: Sendable {
        case hidden(ConversationID, upTo: Int64)
        case shown(ConversationID)
        case messageHidden(MessageID, ConversationID)
        case messagesHidden(ConversationID, upTo: Int64)
        /// The message was deleted for all participants after the user had left.
        case messageDeleted(MessageID, ConversationID)
        case conversationDeleted(ConversationID)

        var conversation: ConversationID {
            switch self {
            case .hidden(let id, _), .shown(let id), .messageHidden(_, let id), .messagesHidden(let id, _),
                .messageDeleted(_, let id),
                .conversationDeleted(let id):
                id
            }
        }
    }
    var number: Int
    var time: Int64
    var position: Int64
    var content: Content
}

/// An entry in a conversation's log.
struct ModelEntry: Sendable {
    struct Receipt: Sendable {
        var message: MessageID
        var user: UserID
        var status: RecipientStatus
    }
    enum Content: Sendable {
        case created
        case participants(added: [UserID], removed: [UserID], clearsDistinct: Bool)
        /// The operations in the form of the packet.
        case metadata([JSONValue])
        case message(MessageID)
        case receipts([Receipt])
        case allRead(UserID, upTo: Int64)
        case partChanged(MessageID)
        case messageDeleted(MessageID)
        case deleted
    }
    var number: Int
    var time: Int64
    var position: Int64
    var content: Content
}

struct ModelMessage: Sendable {
    var id: MessageID
    /// The position of the change that created the message.
    var position: Int64
    var sender: UserID
    var sentAt: Int64
    var updatedAt: Int64?
    var parts: [JSONValue]
    var statuses: [UserID: RecipientStatus]
    var isDeleted = false
}

/// A user's view of a conversation.
struct ModelView: Sendable {
    var isIn = true
    /// The last position that a former participant received, and the state that they keep; nil for participants.
    var left: (position: Int64, metadata: [String: String], isDistinct: Bool)?
    var joinedAt: Int64
    var hiddenUpTo: Int64 = 0
    var isHidden = false
    var hiddenMessages: Set<MessageID> = []
}

struct ModelConversation: Sendable {
    var id: ConversationID
    var creator: UserID
    var createdAt: Int64
    var participants: [UserID]
    var isDistinct: Bool
    var metadata: [String: String]
    /// The messages in order, including deleted ones.
    var messages: [ModelMessage] = []
    var views: [UserID: ModelView] = [:]
    var log: [ModelEntry] = []
    var isDeleted = false

    var head: Int64 { Int64(log.count) }

    // MARK: As one user sees it

    func isSeen(by user: UserID) -> Bool { !isDeleted && views[user].map { !$0.isHidden } ?? false }
    func isTold(to user: UserID) -> Bool { isSeen(by: user) && views[user]?.isIn == true }

    func isVisible(_ message: ModelMessage, to user: UserID) -> Bool {
        guard !isDeleted, !message.isDeleted, let view = views[user] else { return false }
        guard message.position > view.hiddenUpTo, !view.hiddenMessages.contains(message.id) else { return false }
        return view.isIn || message.position <= view.left?.position ?? 0
    }

    func visible(to user: UserID) -> [ModelMessage] { messages.filter { isVisible($0, to: user) } }
    func message(_ id: MessageID) -> ModelMessage? { messages.first { $0.id == id } }
    func isUnread(_ message: ModelMessage, by user: UserID) -> Bool {
        message.sender != user && (message.statuses[user] ?? .read) < .read
    }
    func unread(by user: UserID) -> Int { visible(to: user).count { isUnread($0, by: user) } }
}
