// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// A conversation, as the screen shows it.
struct ChatConversation: Hashable, Sendable {
    struct Person: Hashable, Sendable {
        var name: String
        /// Nil if it is not known.
        var isOnline: Bool?
    }

    var id: ConversationID
    /// Its title, or the names of the others.
    var title: String
    var unreadCount: Int
    /// In the order in which they are shown.
    var people: [Person]
    /// Each text by its key path.
    var metadata: [String: String]
    /// It was made here, and its first message was not sent yet.
    var isDraft = false
}

/// A message, as the screen shows it.
struct ChatMessage: Hashable, Sendable {
    /// How far an own message has come.
    enum Receipt: Hashable, Sendable {
        /// The server does not have it.
        case waiting
        case refused(String)
        case sent
        /// By so many of the recipients.
        case delivered(Int, of: Int)
        case read(Int, of: Int)

        /// What all recipients have in common, or how many have what the furthest have.
        init(sentTo recipients: [RecipientProgress]) {
            let count = recipients.count
            let readers = recipients.count { $0 == .read }
            let holders = recipients.count { $0 >= .delivered }
            if count == 0 || holders == 0 {
                self = .sent
            } else if readers > 0 {
                self = .read(readers, of: count)
            } else {
                self = .delivered(holders, of: count)
            }
        }

        var text: String {
            switch self {
            case .waiting: "waiting"
            case .refused(let why): "refused: \(why)"
            case .sent: "sent"
            case .delivered(let some, let all): some == all ? "delivered" : "delivered to \(some) of \(all)"
            case .read(let some, let all): some == all ? "read" : "read by \(some) of \(all)"
            }
        }
    }

    /// How far a message has come with one recipient.
    enum RecipientProgress: Int, Comparable, Sendable {
        case none, delivered, read

        static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    var sender: String
    /// Of the day, such as `12:03`.
    var time: String
    var text: String
    /// Nil for the messages of others.
    var receipt: Receipt?
}
