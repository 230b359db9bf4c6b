// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Which conversations a page of the logs tells later.
///
/// Strangers can add a user to any number of conversations, with large metadata trees. A client knows nothing of them before it is shown them whole, so they are
/// told behind the conversations that it knows. The order within a conversation stays.
extension ReplayPlan {
    /// Ends the holding back if an entry of the user's own log says what the user did in a conversation that is held back: the client has to be shown it first.
    mutating func releaseWhatIsNamed(in page: LogPage) {
        let isNamed = page.entries.contains { entry in entry.touched.map { isHeldBack($0) } ?? false }
        if isNamed { releaseHeldBack() }
    }

    /// Returns the page without conversations that would have to be looked up, from the first change on for which they would. They are held back, once each,
    /// if others are told ahead of them by that.
    mutating func holdBack(from page: LogPage, for user: UserID) -> LogPage {
        var behind: [ConversationID: Timestamp] = [:]
        var ahead: [LogPage.Entry] = []
        var hasOthers = false
        for entry in page.entries {
            if let id = entry.conversation, behind[id] != nil { continue }
            if case .change(let change) = entry {
                if canHoldBack(change.conversationID), needsLookUp(change, by: user) {
                    behind[change.conversationID] = change.createdAt
                    continue
                }
                hasOthers = hasOthers || !behind.isEmpty
            }
            // What the user did in it comes behind its changes.
            if let touched = entry.touched, behind[touched] != nil { return page }
            ahead.append(entry)
        }
        guard !behind.isEmpty, hasOthers || !page.reachesHeads && isReading(besides: behind.keys) else { return page }
        for (id, time) in behind { holdBack(id, since: time) }
        return LogPage(entries: ahead, reachesHeads: page.reachesHeads, numbers: page.numbers)
    }
}

extension LogPage.Entry {
    /// The conversation in whose log it is; nil: in the user's own.
    fileprivate var conversation: ConversationID? {
        switch self {
        case .change(let change): change.conversationID
        case .skipped(let id, _): id
        case .userChange: nil
        }
    }

    /// The conversation in which the user has deleted something from their devices, or which they have brought back.
    fileprivate var touched: ConversationID? {
        guard case .userChange(let change) = self else { return nil }
        return switch change.content {
        case .conversationHidden(let id, _, _): id
        case .conversationShown(let view?), .messageHidden(_, let view?), .messagesHidden(_, let view): view.conversation.id
        default: nil
        }
    }
}
