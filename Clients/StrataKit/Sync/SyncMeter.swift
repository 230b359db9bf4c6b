// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The progress of a synchronization: for how many conversations everything needed has been fetched.
struct SyncMeter: Hashable, Sendable {
    /// The conversations in the list, as far as the server has reported them.
    private var listed = 0
    private var known: Set<ConversationID> = []
    /// The conversations for which older messages are still to be fetched.
    private var open: Set<ConversationID> = []

    var total: Int { max(listed, known.count) }
    var completed: Int { known.count - open.count }

    /// A page of the list of conversations was received.
    /// - Parameter total: the size of the whole list; nil if the server has not reported it.
    mutating func came(_ ids: some Sequence<ConversationID>, of total: Int?) {
        known.formUnion(ids)
        listed = total ?? listed
    }

    /// Older messages are to be fetched.
    mutating func wanted(_ ids: some Sequence<ConversationID>) {
        known.formUnion(ids)
        open.formUnion(ids)
    }

    mutating func historyFetched(of id: ConversationID) { open.remove(id) }
}
