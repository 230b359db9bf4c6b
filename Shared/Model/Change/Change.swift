// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// One durable change of a conversation: the unit of order, of publication and of replay (docs/architecture.md §4).
///
/// The same value is built when the change is published and when it is read back from the log, and rendered by the same code.
public struct Change: Hashable, Sendable {
    /// The app of the conversation, which is what gives the user ids in here their meaning.
    public var appID: AppID
    /// Whose order ``position`` belongs to; its channel is where the change is published.
    public var conversationID: ConversationID
    /// Dense from 1: a reader that misses one can tell, and fetches it.
    public var position: Position
    /// Never less than the previous change's of the same conversation.
    public var createdAt: Timestamp
    /// Who did it; of receipts of several users, the first of them. Nil: the app's own server, in its own name.
    public var actor: UserID?
    /// The connection and request that asked for it, if a socket did.
    public var origin: Origin?
    /// Messages the conversation has had after this change, those deleted included.
    public var messageCount: Int64
    /// The new counts of the users whose counts this change altered. Empty in a replay, which ends with current counts instead.
    public var numbers: [UserID: UserNumbers]
    /// What happened, with the objects it is about as far as they travel.
    public var content: Content
    /// Participants who are told nothing of it: a block hides the message that it is about from them.
    public var hiddenFrom: [UserID]

    /// Checks nothing: what goes in has been committed, or was read from the log.
    public init(
        appID: AppID, conversationID: ConversationID, position: Position, createdAt: Timestamp, actor: UserID?, origin: Origin?,
        messageCount: Int64, numbers: [UserID: UserNumbers], content: Content, hiddenFrom: [UserID] = []
    ) {
        self.appID = appID
        self.conversationID = conversationID
        self.position = position
        self.createdAt = createdAt
        self.actor = actor
        self.origin = origin
        self.messageCount = messageCount
        self.numbers = numbers
        self.content = content
        self.hiddenFrom = hiddenFrom
    }

    /// Where a change was asked for: lets a gateway answer a request from the change if that arrives first.
    public struct Origin: Hashable, Sendable {
        /// Unique over all gateways and restarts.
        public var connection: UInt64
        /// Counted by the gateway on that connection. It is not the `request_id` of the client, which may use the same one twice.
        public var request: UInt64
        /// A gateway makes one for each creation a socket asks for; what REST asks for has none.
        public init(connection: UInt64, request: UInt64) {
            self.connection = connection
            self.request = request
        }
    }

    /// What happened. Bodies (`conversation`, `message`) are absent where the object has been deleted since, or does not travel with the notice.
    public indirect enum Content: Hashable, Sendable {
        /// The conversation came to be. The body may be newer than the change: then its own position says so, and what lies between
        /// and concerns participants or metadata is contained in it.
        case conversationCreated(Conversation?)
        /// Users joined or left; `distinctCleared` if the conversation was distinct until now. `conversation` (for those added) as above.
        case participantsChanged(added: [BasicIdentity], removed: [UserID], distinctCleared: Bool, conversation: Conversation?)
        case metadataChanged([MetadataEffect])
        /// Gone for all: the last change of a conversation.
        case conversationDeleted
        case messageCreated(id: MessageID, ordinal: Int64, Message?)
        /// Gone for all. `lastMessage` is what all users now see as the newest (nil: none), if that changed; users who hid messages
        /// and see another one are in `lastMessageOverrides`.
        case messageDeleted(id: MessageID, ordinal: Int64, lastMessage: LastMessage)
        /// Receipts of one or several users over one or several messages.
        case receipts([Receipt])
        /// `user` has read every message up to the position of `upTo`. `toldTo` nil: all users are told; otherwise these users, and the reader.
        case allRead(user: UserID, upTo: Position, toldTo: [UserID]?)
        /// Its sender changed parts of a message. The body is the message as it is now, which may be newer than the change.
        case partsChanged(id: MessageID, ordinal: Int64, [PartEdit], Message?)
    }

    /// What was done to one part of a message, or to all of them.
    public enum PartEdit: Hashable, Sendable {
        /// Put behind all others.
        case added(UUID)
        /// Its type or content is another one.
        case changed(UUID)
        /// `index` is where it stood, which is what 2.0 clients know it by.
        case removed(UUID, index: Int)
        /// The message has other parts now.
        case allReplaced
    }

    /// A receipt that had an effect.
    public struct Receipt: Hashable, Sendable {
        /// Who received the message, and now says so.
        public var user: UserID
        /// Never a message that the reader sent: that is `read` from the beginning, and a receipt over it has no effect.
        public var messageID: MessageID
        /// Of the message, within its conversation.
        public var ordinal: Int64
        /// The status that the reader has now: `delivered` or `read`.
        public var status: RecipientStatus
        /// Of the message; nil: it has a name only.
        public var sender: UserID?
        /// Who is told.
        public var audience: Audience
        /// Participants who are not told all the same: a block hides the message from them.
        public var hiddenFrom: [UserID]
        /// Only for a receipt that moved the status forward; others are not announced (docs/conformance.md §7).
        public init(
            user: UserID, messageID: MessageID, ordinal: Int64, status: RecipientStatus, sender: UserID?, audience: Audience = .everybody,
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

        /// Which participants a receipt is announced to (docs/conformance.md §7).
        public enum Audience: Int, Sendable {
            case everybody = 0
            /// In large conversations.
            case senderAndReader = 1
            /// Where receipts of this kind are switched off.
            case reader = 2
        }

        /// Whether `user` is told of it.
        public func concerns(_ user: UserID) -> Bool {
            if hiddenFrom.contains(user) { return false }
            return switch audience {
            case .everybody: true
            case .senderAndReader: user == self.user || user == sender
            case .reader: user == self.user
            }
        }
    }

    /// What a deletion did to `last_message`.
    public struct LastMessage: Hashable, Sendable {
        /// False: the deleted message was not the last one of any user.
        public var changed: Bool
        /// Of all who are not in `overrides`.
        public var message: Message?
        /// Users who hid messages and therefore see another last message; nil: none.
        public var overrides: [UserID: Message?]
        /// Read back from the log, `message` is the last one as of now, even where nothing `changed`.
        public init(changed: Bool, message: Message?, overrides: [UserID: Message?] = [:]) {
            self.changed = changed
            self.message = message
            self.overrides = overrides
        }
    }
}

/// One entry of a user's own log: a change that belongs to the user and to no conversation (docs/architecture.md §4).
public struct UserChange: Hashable, Sendable {
    /// The app in which ``user`` is a user.
    public var appID: AppID
    /// The user whose log this is; the sockets of other users are not told.
    public var user: UserID
    /// Dense, in commit order, per user.
    public var position: Position
    /// Never less than the previous entry's of the same log.
    public var createdAt: Timestamp
    /// What happened, with the objects it is about as they are now.
    public var content: Content
    /// Checks nothing: what goes in has been committed, or was read from the log.
    public init(appID: AppID, user: UserID, position: Position, createdAt: Timestamp, content: Content) {
        self.appID = appID
        self.user = user
        self.position = position
        self.createdAt = createdAt
        self.content = content
    }

    /// What happened.
    public indirect enum Content: Hashable, Sendable {
        /// The user deleted a conversation from their devices: everything up to `upTo` is hidden from them. `wholly`: it is not on their list now;
        /// otherwise (on a replay, after newer messages) only what lies before is gone.
        case conversationHidden(ConversationID, upTo: Position, wholly: Bool)
        /// A hidden conversation is visible again, by a newer message or because the user created its distinct match.
        case conversationShown(ConversationView?)
        /// The user deleted a message from their devices. `view` holds the conversation's counts and last message as the user sees them now.
        case messageHidden(MessageID, view: ConversationView?)
        /// The user's own identity changed, or that of a user they follow.
        case identityChanged(Identity)
        /// The user follows this identity from now on, because the user or their application asked for it.
        case followed(Identity)
        /// The user does not follow this one any more, or its identity is gone.
        case unfollowed(UserID)
        /// The application announced something to the user.
        case announced(Announcement)
        case announcementStatus(AnnouncementID, RecipientStatus)
        /// The user removed an announcement.
        case announcementDeleted(AnnouncementID)
        /// What it was about is gone since; nothing is left to tell.
        case obsolete
        /// The user deleted the messages of a conversation up to `upTo` from their devices; the conversation stays on the list. `view` holds its counts and
        /// last message as they are now.
        case messagesHidden(upTo: Position, view: ConversationView)
        /// A message was deleted for all in a conversation that the user has left. `view` holds the conversation's counts and last message as the user
        /// sees them now; nil if the user takes part again, whom the conversation's own log tells.
        case messageDeleted(MessageID, in: ConversationID, view: ConversationView?)
        /// A conversation that the user has left was deleted for all.
        case conversationDeleted(ConversationID)
        /// The user has blocked and unblocked others.
        case blocksChanged(blocked: [UserID], unblocked: [UserID])
        /// Another user has blocked this one, or blocks them no longer. The user's clients are not told.
        case blockedBy(UserID, isBlocked: Bool)
    }
}

/// Tells the gateways of a user that the user is in a conversation they may not have subscribed to. Published on the user's channel; only a hint.
public struct UserNotice: Hashable, Sendable {
    /// Why the gateways are told.
    public enum Content: Hashable, Sendable {
        /// The user was added at `position`, or the conversation was created there with the user in it.
        case added(ConversationID, position: Position)
        case change(UserChange)
        /// The user's own log has come to this position, at this time. What it says is read from there: of many users who are told the same, only those who
        /// are there cost more than this notice.
        case logged(Position, at: Timestamp)
        /// Sessions ended: their sockets must be closed. `tokenDigest` nil: all of the user's.
        case sessionEnded(tokenDigest: [UInt8]?)
    }
    /// The app in which ``user`` is a user; the channel is named by both.
    public var appID: AppID
    /// The user it concerns: gateways on which that user has no socket do not listen.
    public var user: UserID
    /// All that is said; whatever else a gateway needs to know it asks for.
    public var content: Content
    /// Published after the commit that it tells of.
    public init(appID: AppID, user: UserID, content: Content) {
        self.appID = appID
        self.user = user
        self.content = content
    }
}

/// What a participant is doing at the keyboard (docs/conformance.md §12.6).
public enum TypingAction: String, Sendable, CaseIterable { case started, paused, finished }

/// An announced typing transition, published on the conversation's channel beside its changes.
public struct TypingSignal: Hashable, Sendable {
    /// Names the channel it is published on, and by its ``ConversationID/shard`` the keys of the state.
    public var conversationID: ConversationID
    /// The typist, who was a participant when the signal came; the typist is not told.
    public var user: UserID
    /// The state that the typist has come to, or is still in: an unchanged one is announced again every few seconds at most.
    public var action: TypingAction
    /// Stands for an announcement: what a client merely repeated is none.
    public init(conversationID: ConversationID, user: UserID, action: TypingAction) {
        self.conversationID = conversationID
        self.user = user
        self.action = action
    }
}
