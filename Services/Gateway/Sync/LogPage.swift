// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A page of several logs, merged by time.
package struct LogPage: Sendable {
    package enum Entry: Sendable {
        case change(Change)
        case userChange(UserChange)
        /// A change that the user does not see. Only the cursor of the conversation advances, to this position.
        case skipped(ConversationID, Position)

        /// The time of the entry; nil for a skipped entry, which is not sent.
        var createdAt: Timestamp? {
            switch self {
            case .change(let change): change.createdAt
            case .userChange(let change): change.createdAt
            case .skipped: nil
            }
        }
    }
    /// A conversation's counts for the user, and the user's relation to it, as of the page.
    package struct Counts: Sendable {
        let counts: UserCounts
        /// The number of messages ever sent in the conversation.
        let messageCount: Int64
        let isParticipant: Bool
        /// True unless the user has deleted the conversation from their devices and it has not come back since.
        let isListed: Bool

        package init(counts: UserCounts, messageCount: Int64, isParticipant: Bool, isListed: Bool) {
            self.counts = counts
            self.messageCount = messageCount
            self.isParticipant = isParticipant
            self.isListed = isListed
        }
    }
    package let entries: [Entry]
    /// True if the logs contained nothing beyond these entries at the time of reading.
    let reachesHeads: Bool
    let counts: [ConversationID: Counts]

    package init(entries: [Entry], reachesHeads: Bool, counts: [ConversationID: Counts]) {
        self.entries = entries
        self.reachesHeads = reachesHeads
        self.counts = counts
    }
}
