// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// How a user left a conversation, and what the client was told of it by then.
package struct LeaveRecord: Sendable, Equatable {
    /// Of the change by which the user left, or of a later one.
    package var position: Position
    /// The client was told of something that the user sees until here; zero if the conversation had been removed from the user's devices.
    package var seenUpTo: Position
    /// The user's own numbers, as the client was told them last.
    package var numbers = UserNumbers(uncounted: 0, hidden: 0, position: .zero)
    /// Messages ever sent, as of the user's leaving or before.
    package var messageCount: Int64 = 0
    /// Of the newest change by which the client knows what the last message is.
    package var lastMessageTold = Position.zero

    package init(
        position: Position, seenUpTo: Position, numbers: UserNumbers = UserNumbers(uncounted: 0, hidden: 0, position: .zero), messageCount: Int64 = 0,
        lastMessageTold: Position = .zero
    ) {
        self.position = position
        self.seenUpTo = seenUpTo
        self.numbers = numbers
        self.messageCount = messageCount
        self.lastMessageTold = lastMessageTold
    }

    /// The conversation as the user sees it since they left, from how it was before.
    func after(_ view: ConversationView) -> ConversationView {
        guard view.conversation.position < position else { return view }
        var view = view
        view.isParticipant = false
        if numbers.position > view.numbers.position { view.numbers = numbers }
        view.messageCount = max(view.messageCount, messageCount)
        return view
    }
}
