// SPDX-License-Identifier: Apache-2.0
import Model

/// How a user left a conversation.
struct Departure: Sendable, Equatable {
    /// Of the change by which he left, or of a later one.
    var position: Position
    /// The client was told of something he sees until here; zero if it had been removed from his devices.
    var seenUpTo: Position
    /// His own numbers, as the client was told them last.
    var numbers = UserNumbers(uncounted: 0, hidden: 0, position: .zero)
    /// Messages ever sent, as of his leaving or before.
    var messageCount: Int64 = 0
    /// Of the newest change by which the client knows what the last message is.
    var lastMessageTold = Position.zero

    /// The conversation as he sees it since he left, from how it was before.
    func after(_ view: ConversationView) -> ConversationView {
        guard view.conversation.position < position else { return view }
        var view = view
        view.isParticipant = false
        if numbers.position > view.numbers.position { view.numbers = numbers }
        view.messageCount = max(view.messageCount, messageCount)
        return view
    }
}
