// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A page of several logs, merged by time.
struct LogPage: Sendable {
    enum Entry: Sendable {
        case change(Change)
        case userChange(UserChange)
        case skipped(ConversationID, Position)

        /// When it was made; nil of one that is not told.
        var createdAt: Timestamp? {
            switch self {
            case .change(let change): change.createdAt
            case .userChange(let change): change.createdAt
            case .skipped: nil
            }
        }
    }
    struct Numbers: Sendable {
        let numbers: UserNumbers
        let messageCount: Int64
        let isParticipant: Bool
        /// The user sees it: they have not deleted it from their devices, or it has come back since.
        let isListed: Bool
    }
    let entries: [Entry]
    let reachesHeads: Bool
    let numbers: [ConversationID: Numbers]
}
