// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// A user's departure from a conversation, and the state of the conversation that the client last received.
package struct LeaveRecord: Sendable, Equatable {
    /// The position of the change that removed the user, or of a later one.
    package var position: Position
    /// The position up to which the client has received content visible to the user. Zero if the conversation had been
    /// removed from the user's devices.
    package var seenUpTo: Position
    /// The user's counts as last sent to the client.
    package var counts = UserCounts(excluded: 0, hidden: 0, position: .zero)
    /// The number of messages ever sent, at the user's departure or earlier.
    package var messageCount: Int64 = 0
    /// The position of the newest change from which the client knows the last message.
    package var lastMessagePosition = Position.zero

    package init(
        position: Position, seenUpTo: Position,
        counts: UserCounts = UserCounts(excluded: 0, hidden: 0, position: .zero), messageCount: Int64 = 0,
        lastMessagePosition: Position = .zero
    ) {
        self.position = position
        self.seenUpTo = seenUpTo
        self.counts = counts
        self.messageCount = messageCount
        self.lastMessagePosition = lastMessagePosition
    }

    /// Returns the conversation as the user sees it after leaving, derived from an earlier view.
    func after(_ view: ConversationView) -> ConversationView {
        guard view.conversation.position < position else { return view }
        var view = view
        view.isParticipant = false
        if counts.position > view.counts.position { view.counts = counts }
        view.messageCount = max(view.messageCount, messageCount)
        return view
    }
}
