// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// One thing to send during a catch-up.
package enum ReplayItem: Sendable {
    case change(Change)
    /// A conversation as it is now, because of this change.
    case conversation(ConversationView, Change)
    /// A conversation as it is now, though the log does not say why.
    case conversationNow(ConversationView, at: Position)
    case userChange(UserChange)

    /// No packet of a replay is stamped later than this; nil: not later than the one before it.
    package var createdAt: Timestamp? {
        switch self {
        case .change(let change), .conversation(_, let change): change.createdAt
        case .conversationNow: nil
        case .userChange(let change): change.createdAt
        }
    }
}
