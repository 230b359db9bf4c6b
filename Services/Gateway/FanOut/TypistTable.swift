// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

/// The users who are typing in the conversations of this gateway (docs/architecture.md §7). The gateway ends typing that is not announced any more, and
/// has the presence service end the typing of a user who sends a message.
///
/// The presence service says how long a signal is valid, since it knows when it would say more.
struct TypistTable {
    private var table: [ConversationID: [UserID: NIODeadline]] = [:]

    var isEmpty: Bool { table.isEmpty }

    /// - Parameter end: If nothing more is heard of this typist until then, they have finished.
    mutating func heard(_ signal: TypingSignal, until end: NIODeadline) {
        if signal.action == .finished {
            remove(signal.user, in: signal.conversationID)
        } else {
            table[signal.conversationID, default: [:]][signal.user] = end
        }
    }

    func contains(_ user: UserID, in conversation: ConversationID) -> Bool { table[conversation]?[user] != nil }

    private mutating func remove(_ user: UserID, in conversation: ConversationID) {
        guard table[conversation]?.removeValue(forKey: user) != nil else { return }
        if table[conversation]?.isEmpty == true { table[conversation] = nil }
    }

    mutating func forget(_ conversation: ConversationID) { table[conversation] = nil }

    /// Takes out all typists whose last signal is good no longer, in an order that does not depend on that of the table.
    mutating func takeEnded(at now: NIODeadline) -> [TypingSignal] {
        var ended: [TypingSignal] = []
        for (conversation, typists) in table {
            for (user, end) in typists where end <= now {
                ended.append(TypingSignal(conversationID: conversation, user: user, action: .finished))
            }
        }
        for signal in ended { remove(signal.user, in: signal.conversationID) }
        return ended.sorted { ($0.user, $0.conversationID.description) < ($1.user, $1.conversationID.description) }
    }
}
