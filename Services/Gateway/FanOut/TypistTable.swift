// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

/// Who is typing in the conversations of this gateway, as far as it was told: only to end what Redis may have forgotten.
struct TypistTable {
    private struct Typist {
        var action: TypingAction
        var heardAt: NIODeadline
    }
    private var table: [ConversationID: [UserID: Typist]] = [:]

    var isEmpty: Bool { table.isEmpty }

    mutating func heard(_ signal: TypingSignal, at now: NIODeadline) {
        if signal.action == .finished {
            remove(signal.user, in: signal.conversationID)
        } else {
            table[signal.conversationID, default: [:]][signal.user] = Typist(action: signal.action, heardAt: now)
        }
    }

    func contains(_ user: UserID, in conversation: ConversationID) -> Bool { table[conversation]?[user] != nil }

    mutating func remove(_ user: UserID, in conversation: ConversationID) {
        guard table[conversation]?.removeValue(forKey: user) != nil else { return }
        if table[conversation]?.isEmpty == true { table[conversation] = nil }
    }

    mutating func forget(_ conversation: ConversationID) { table[conversation] = nil }

    /// Takes out everybody who was not heard of since `limit`.
    mutating func takeSilent(since limit: NIODeadline) -> [TypingSignal] {
        var ended: [TypingSignal] = []
        for (conversation, typists) in table {
            for (user, typist) in typists where typist.heardAt <= limit {
                ended.append(TypingSignal(conversationID: conversation, user: user, action: .finished))
            }
        }
        for signal in ended { remove(signal.user, in: signal.conversationID) }
        return ended
    }
}
