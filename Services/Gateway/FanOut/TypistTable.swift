// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

/// The typing users in this gateway's conversations (docs/architecture.md §7). The gateway ends typing whose signals
/// stop, and has the presence service end the typing of a user who sends a message.
///
/// The presence service states how long a signal is valid, because it knows when it would repeat the signal.
struct TypistTable {
    private var table: [ConversationID: [UserID: NIODeadline]] = [:]

    var isEmpty: Bool { table.isEmpty }

    /// - Parameter end: the time at which typing ends unless another signal arrives.
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

    /// Removes and returns all typists whose last signal has expired. The order does not depend on that of the table.
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
