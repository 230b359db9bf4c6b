// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Deferring conversations of a page.
///
/// Strangers can add a user to any number of conversations with large metadata trees. A client does not know such a
/// conversation until it is sent in full. So it is sent after the conversations that the client knows. The order within
/// a conversation is kept.
extension ReplayPlan {
    /// Releases all deferred conversations if the user's own log has an entry about one of them. The client must be
    /// sent that conversation before the entry.
    mutating func releaseWhatIsNamed(in page: LogPage) {
        let isNamed = page.entries.contains { entry in entry.touched.map { isDeferred($0) } ?? false }
        if isNamed { releaseDeferred() }
    }

    /// Returns the page without the entries of conversations that would have to be looked up, from the first such
    /// change on. These conversations are deferred, each at most once, provided that others are sent before them.
    mutating func deferConversations(from page: LogPage, for user: UserID) -> LogPage {
        var behind: [ConversationID: Timestamp] = [:]
        var ahead: [LogPage.Entry] = []
        var hasOthers = false
        for entry in page.entries {
            if let id = entry.conversation, behind[id] != nil { continue }
            if case .change(let change) = entry {
                if canDefer(change.conversationID), needsLookUp(change, by: user) {
                    behind[change.conversationID] = change.createdAt
                    continue
                }
                hasOthers = hasOthers || !behind.isEmpty
            }
            // An entry about the user's action in a conversation must follow the conversation's changes.
            if let touched = entry.touched, behind[touched] != nil { return page }
            ahead.append(entry)
        }
        guard !behind.isEmpty, hasOthers || !page.reachesHeads && isReading(besides: behind.keys) else { return page }
        for (id, time) in behind { deferConversation(id, since: time) }
        return LogPage(entries: ahead, reachesHeads: page.reachesHeads, counts: page.counts)
    }
}

extension LogPage.Entry {
    /// The conversation whose log contains the entry; nil for the user's own log.
    fileprivate var conversation: ConversationID? {
        switch self {
        case .change(let change): change.conversationID
        case .skipped(let id, _): id
        case .userChange: nil
        }
    }

    /// The conversation in which the user deleted something from their devices, or which the user brought back.
    fileprivate var touched: ConversationID? {
        guard case .userChange(let change) = self else { return nil }
        return switch change.content {
        case .conversationHidden(let id, _, _): id
        case .conversationShown(let view?), .messageHidden(_, let view?), .messagesHidden(_, let view):
            view.conversation.id
        default: nil
        }
    }
}
