// SPDX-License-Identifier: Apache-2.0

import StrataKit

/// A conversation in the form that the screen shows.
struct ChatConversation: Hashable, Sendable {
    struct Person: Hashable, Sendable {
        var name: String
        /// True if the person is online; nil if unknown.
        var isOnline: Bool?
    }

    var id: ConversationID
    /// The title, or the names of the other participants.
    var title: String
    var unreadCount: Int
    /// The participants in display order.
    var people: [Person]
    /// The metadata values by key path.
    var metadata: [String: String]
    /// True if the conversation was created here and its first message has not been sent.
    var isDraft = false
}

/// A message in the form that the screen shows.
struct ChatMessage: Hashable, Sendable {
    /// The delivery progress of the user's own message.
    enum Receipt: Hashable, Sendable {
        /// The server does not have the message yet.
        case waiting
        case refused(String)
        case sent
        /// The message was delivered to the first number of the recipients.
        case delivered(Int, of: Int)
        case read(Int, of: Int)

        /// Creates the receipt from the progress of all recipients. The highest progress counts, with the number of
        /// recipients that have it.
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

    /// The delivery progress of a message for one recipient.
    enum RecipientProgress: Int, Comparable, Sendable {
        case none, delivered, read

        static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    var sender: String
    /// The time of day, `12:03` for example.
    var time: String
    var text: String
    /// The delivery progress; nil for messages of other users.
    var receipt: Receipt?
}
