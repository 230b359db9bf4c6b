// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A page of several logs, merged by time.
package struct LogPage: Sendable {
    package enum Entry: Sendable {
        case change(Change)
        case userChange(UserChange)
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
    package struct Counts: Sendable {
        let counts: UserCounts
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
    let reachesHeads: Bool
    let counts: [ConversationID: Counts]

    package init(entries: [Entry], reachesHeads: Bool, counts: [ConversationID: Counts]) {
        self.entries = entries
        self.reachesHeads = reachesHeads
        self.counts = counts
    }
}
