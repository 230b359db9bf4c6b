// SPDX-License-Identifier: Apache-2.0

/// A conversation and its newest messages, read in one snapshot: a client's first load.
public struct LoadedConversation: Hashable, Sendable {
    /// The conversation as seen by the loading user.
    public var view: ConversationView
    /// The messages seen by this user, newest first. The first one is the view's last message.
    public var messages: [Message]
    /// True if requested messages are missing because the response had no room for them.
    public var isTruncated: Bool
    /// Creates a loaded conversation. `messages` must begin with the view's last message, if there is one.
    public init(view: ConversationView, messages: [Message], isTruncated: Bool) {
        self.view = view
        self.messages = messages
        self.isTruncated = isTruncated
    }
}
