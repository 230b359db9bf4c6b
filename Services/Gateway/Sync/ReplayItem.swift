// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// An item to send during a catch-up.
package enum ReplayItem: Sendable {
    case change(Change)
    /// The current state of a conversation, sent because of this change.
    case conversation(ConversationView, Change)
    /// The current state of a conversation, sent without a change in the log that causes it.
    case conversationNow(ConversationView, at: Position)
    case userChange(UserChange)

    /// The latest time that packets of a replay may carry with this item. Nil: no later than the item before it.
    package var createdAt: Timestamp? {
        switch self {
        case .change(let change), .conversation(_, let change): change.createdAt
        case .conversationNow: nil
        case .userChange(let change): change.createdAt
        }
    }
}
