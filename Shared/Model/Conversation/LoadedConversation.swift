// SPDX-License-Identifier: Apache-2.0

/// A conversation together with messages of it, all of one moment: what a client begins with.
public struct LoadedConversation: Hashable, Sendable {
    /// As the user who loads it sees it.
    public var view: ConversationView
    /// As this user sees them, newest first. The first one is the view's last message.
    public var messages: [Message]
    /// Whether there are more messages that were asked for: there was no room for them.
    public var isCut: Bool
    /// `messages` must begin with the view's last message, if it has one.
    public init(view: ConversationView, messages: [Message], isCut: Bool) {
        self.view = view
        self.messages = messages
        self.isCut = isCut
    }
}
