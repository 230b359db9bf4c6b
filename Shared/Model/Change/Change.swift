// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// A durable change of a conversation: the unit of order, publication and replay (docs/architecture.md §4).
///
/// Publishing a change and reading it back from the log yield equal values. The same code renders both.
public struct Change: Hashable, Sendable {
    /// The app of the conversation. The user ids in this value belong to it.
    public var appID: AppID
    /// The conversation whose log contains ``position``. The change is published on its channel.
    public var conversationID: ConversationID
    /// The change's position in the log: dense, from 1. A reader detects a missing change by the gap and fetches it.
    public var position: Position
    /// The time of the change, never less than that of the preceding change of the conversation.
    public var createdAt: Timestamp
    /// The user who made the change; nil: the app's own server, in its own name. For receipts of several users, the
    /// first one.
    public var actor: UserID?
    /// The connection and request that caused the change; nil unless a socket did.
    public var origin: Origin?
    /// The number of messages the conversation has had after this change, deleted ones included.
    public var messageCount: Int64
    /// The new counts of the users whose counts this change altered. Empty in a replay, which ends with current counts.
    public var counts: [UserID: UserCounts]
    /// The kind of the change, with the affected objects if they are included.
    public var content: Content
    /// Participants who do not receive the change, because a block hides its message from them.
    public var hiddenFrom: [UserID]

    /// Creates a change without validation: the values are committed or were read from the log.
    public init(
        appID: AppID, conversationID: ConversationID, position: Position, createdAt: Timestamp, actor: UserID?,
        origin: Origin?,
        messageCount: Int64, counts: [UserID: UserCounts], content: Content, hiddenFrom: [UserID] = []
    ) {
        self.appID = appID
        self.conversationID = conversationID
        self.position = position
        self.createdAt = createdAt
        self.actor = actor
        self.origin = origin
        self.messageCount = messageCount
        self.counts = counts
        self.content = content
        self.hiddenFrom = hiddenFrom
    }

    /// The request that caused a change. A gateway can answer that request from the change if the change arrives first.
    public struct Origin: Hashable, Sendable {
        /// The id of the connection, unique over all gateways and restarts.
        public var connection: UInt64
        /// The number that the gateway gave the request on that connection. It is not the client's `request_id`, which
        /// a client may repeat.
        public var request: UInt64
        /// Creates the origin of a creation that a socket requested. Changes requested over REST have no origin.
        public init(connection: UInt64, request: UInt64) {
            self.connection = connection
            self.request = request
        }
    }

    /// The kinds of changes. Bodies (`conversation`, `message`) are nil if the object was deleted later or is not
    /// published with the change.
    public indirect enum Content: Hashable, Sendable {
        /// A conversation was created. The body may be newer than the change: its own `position` says so, and it then
        /// contains the later changes of participants and metadata up to that position.
        case conversationCreated(Conversation?)
        /// Users joined or left. `distinctCleared` is true if the conversation was distinct before. `conversation`, for
        /// added users, may be newer than the change.
        case participantsChanged(
            added: [BasicIdentity], removed: [UserID], distinctCleared: Bool, conversation: Conversation?)
        case metadataChanged([MetadataEffect])
        /// The conversation was deleted for all participants. This is the last change of its log.
        case conversationDeleted
        case messageCreated(id: MessageID, ordinal: Int64, Message?)
        /// A message was deleted for all participants. `lastMessage` describes the effect on the newest message that
        /// each user sees.
        case messageDeleted(id: MessageID, ordinal: Int64, lastMessage: LastMessage)
        /// One or more users acknowledged one or more messages.
        case receipts([Receipt])
        /// `user` has read every message up to the position `upTo`. `audience` names the users who receive the change,
        /// beside the reader; nil: all.
        case allRead(user: UserID, upTo: Position, audience: [UserID]?)
        /// The sender changed parts of a message. The body is the current message, which may be newer than the change.
        case partsChanged(id: MessageID, ordinal: Int64, [PartEdit], Message?)
    }

    /// A change to one part of a message, or to all of them.
    public enum PartEdit: Hashable, Sendable {
        /// The part was appended.
        case added(UUID)
        /// The part has a new type or content.
        case changed(UUID)
        /// The part was removed. `index` is its former index, by which 2.0 clients identify it.
        case removed(UUID, index: Int)
        /// All parts were replaced.
        case allReplaced
    }

    /// A receipt that changed a recipient's status.
    public struct Receipt: Hashable, Sendable {
        /// The recipient who gave the receipt.
        public var user: UserID
        /// The acknowledged message. Never one that the recipient sent: its status is `read` from the beginning, so a
        /// receipt has no effect.
        public var messageID: MessageID
        /// The ordinal of the message within its conversation.
        public var ordinal: Int64
        /// The recipient's new status: `delivered` or `read`.
        public var status: RecipientStatus
        /// The sender of the message; nil if the message has only a sender name.
        public var sender: UserID?
        /// The participants who receive the receipt.
        public var audience: Audience
        /// Participants who are excluded from ``audience``, because a block hides the message from them.
        public var hiddenFrom: [UserID]
        /// Creates a receipt that moved the status forward. Other receipts are not announced (docs/conformance.md §7).
        public init(
            user: UserID, messageID: MessageID, ordinal: Int64, status: RecipientStatus, sender: UserID?,
            audience: Audience = .everybody,
            hiddenFrom: [UserID] = []
        ) {
            self.user = user
            self.messageID = messageID
            self.ordinal = ordinal
            self.status = status
            self.sender = sender
            self.audience = audience
            self.hiddenFrom = hiddenFrom
        }

        /// The participants to whom a receipt is announced (docs/conformance.md §7).
        public enum Audience: Int, Sendable {
            case everybody = 0
            /// Used in large conversations.
            case senderAndReader = 1
            /// Used if the conversation's ``ReceiptPolicy`` disables receipts of this kind.
            case reader = 2
        }

        /// Returns true if `user` receives the receipt.
        public func concerns(_ user: UserID) -> Bool {
            if hiddenFrom.contains(user) { return false }
            return switch audience {
            case .everybody: true
            case .senderAndReader: user == self.user || user == sender
            case .reader: user == self.user
            }
        }
    }

    /// The effect of a message's deletion on `last_message`.
    public struct LastMessage: Hashable, Sendable {
        /// False if the deleted message was not the last one of any user.
        public var changed: Bool
        /// The last message of all users that are not in `overrides`; nil: none.
        public var message: Message?
        /// The last messages of users who hid messages and therefore see a different one; a nil value: none.
        public var overrides: [UserID: Message?]
        /// Creates the effect of a deletion. When read back from the log, `message` is the current last message even if
        /// `changed` is false.
        public init(changed: Bool, message: Message?, overrides: [UserID: Message?] = [:]) {
            self.changed = changed
            self.message = message
            self.overrides = overrides
        }
    }
}

/// An entry of a user's own log: a change that belongs to the user and to no conversation (docs/architecture.md §4).
public struct UserChange: Hashable, Sendable {
    /// The app in which ``user`` is a user.
    public var appID: AppID
    /// The user whose log contains the entry. Sockets of other users do not receive it.
    public var user: UserID
    /// The entry's position in the user's log: dense, in commit order.
    public var position: Position
    /// The time of the entry, never less than that of the preceding entry of the log.
    public var createdAt: Timestamp
    /// The kind of the entry, with the current state of the affected objects.
    public var content: Content
    /// Creates an entry without validation: the values are committed or were read from the log.
    public init(appID: AppID, user: UserID, position: Position, createdAt: Timestamp, content: Content) {
        self.appID = appID
        self.user = user
        self.position = position
        self.createdAt = createdAt
        self.content = content
    }

    /// The kinds of entries.
    public indirect enum Content: Hashable, Sendable {
        /// The user deleted a conversation from their devices, which hides everything up to `upTo` from them. `wholly`
        /// is true if the conversation is not on their list now. It is false in a replay after newer messages.
        case conversationHidden(ConversationID, upTo: Position, wholly: Bool)
        /// A hidden conversation is visible again, because of a newer message or because the user created it again as
        /// distinct.
        case conversationShown(ConversationView?)
        /// The user deleted a message from their devices. `view` holds the conversation's current counts and last
        /// message for the user.
        case messageHidden(MessageID, view: ConversationView?)
        /// The identity of the user, or of a user they follow, changed.
        case identityChanged(Identity)
        /// The user now follows this identity, at the request of the user or of the application.
        case followed(Identity)
        /// The user no longer follows this user, or the identity was deleted.
        case unfollowed(UserID)
        /// The user received an announcement from the application.
        case announced(Announcement)
        case announcementStatus(AnnouncementID, RecipientStatus)
        /// The user removed an announcement.
        case announcementDeleted(AnnouncementID)
        /// The object of the entry no longer exists, so the entry has no effect.
        case obsolete
        /// The user deleted the messages of a conversation up to `upTo` from their devices. The conversation stays on
        /// the list; `view` holds its current counts and last message.
        case messagesHidden(upTo: Position, view: ConversationView)
        /// A message was deleted for all participants in a conversation that the user has left. `view` holds the
        /// conversation's current counts and last message for the user. It is nil if the user has rejoined, because
        /// then the conversation's own log reports the deletion.
        case messageDeleted(MessageID, in: ConversationID, view: ConversationView?)
        /// A conversation that the user has left was deleted for all participants.
        case conversationDeleted(ConversationID)
        /// The user blocked or unblocked other users.
        case blocksChanged(blocked: [UserID], unblocked: [UserID])
        /// Another user blocked or unblocked this user. Clients of this user do not receive it.
        case blockedBy(UserID, isBlocked: Bool)
    }
}

/// A notice to the gateways that serve a user. It is published on the user's channel, and is only a hint.
public struct UserNotice: Hashable, Sendable {
    /// The kinds of notices.
    public enum Content: Hashable, Sendable {
        /// The user was added at `position`, or the conversation was created at `position` with the user as a
        /// participant.
        case added(ConversationID, position: Position)
        case change(UserChange)
        /// The head of the user's own log reached this position at this time. The gateways read the entries from the
        /// log. A notice to many users is therefore cheap for users who are not connected.
        case logged(Position, at: Timestamp)
        /// Sessions ended, and their sockets must be closed. `tokenDigest` nil: all sessions of the user.
        case sessionEnded(tokenDigest: [UInt8]?)
    }
    /// The app in which ``user`` is a user. The channel's name contains both.
    public var appID: AppID
    /// The user whom the notice concerns. Gateways without a socket of the user are not subscribed.
    public var user: UserID
    /// The content of the notice. A gateway requests anything else that it needs.
    public var content: Content
    /// Creates a notice, which is published after the commit of its cause.
    public init(appID: AppID, user: UserID, content: Content) {
        self.appID = appID
        self.user = user
        self.content = content
    }
}

/// The typing state of a participant (docs/conformance.md §12.6).
public enum TypingAction: String, Sendable, CaseIterable { case started, paused, finished }

/// A typing transition, published on the conversation's channel beside its changes.
public struct TypingSignal: Hashable, Sendable {
    /// The conversation. It determines the channel and, through ``ConversationID/shard``, the keys of the typing state.
    public var conversationID: ConversationID
    /// The typing user, who was a participant when the signal arrived. The signal is not sent to this user.
    public var user: UserID
    /// The user's current typing state. An unchanged state is announced again at most every few seconds.
    public var action: TypingAction
    /// Creates a signal to be announced. A mere repetition by the client yields none.
    public init(conversationID: ConversationID, user: UserID, action: TypingAction) {
        self.conversationID = conversationID
        self.user = user
        self.action = action
    }
}
