// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The progress of a synchronization: the number of conversations that are completely fetched.
struct SyncMeter: Hashable, Sendable {
    /// The size of the list of conversations, as far as the server has reported it.
    private var listed = 0
    /// The conversations in the received pages, and those that needed older messages.
    private var known: Set<ConversationID> = []
    /// The known conversations that still need older messages.
    private var incomplete: Set<ConversationID> = []

    var total: Int { max(listed, known.count) }
    var completed: Int { known.count - incomplete.count }

    /// Adds a page of the list of conversations.
    /// - Parameter total: the size of the whole list; nil if the server has not reported it.
    mutating func pageReceived(_ ids: some Sequence<ConversationID>, total: Int?) {
        known.formUnion(ids)
        listed = total ?? listed
    }

    mutating func historyNeeded(_ ids: some Sequence<ConversationID>) {
        known.formUnion(ids)
        incomplete.formUnion(ids)
    }

    mutating func historyFetched(of id: ConversationID) { incomplete.remove(id) }
}
