// SPDX-License-Identifier: Apache-2.0

/// A conversation, without the state that differs between participants.
public struct Conversation: Hashable, Sendable {
    /// The id, chosen by the client that created the conversation or by that client's gateway (docs/conformance.md
    /// §1.9).
    public var id: ConversationID
    /// The time of creation, regardless of when participants joined. It determines the default order of lists
    /// (docs/conformance.md §5.2).
    public var createdAt: Timestamp
    /// True if creating a conversation with the same participants finds this one. It becomes false permanently when the
    /// participants change (docs/conformance.md §5.4).
    public var isDistinct: Bool
    /// The participants, sorted by user id.
    public var participants: [BasicIdentity]
    /// The metadata; nil if not loaded, or too large for the answer.
    public var metadata: MetadataTree?
    /// The position of the last change that this value contains.
    public var position: Position
    /// An opaque identifier of the database's history, which changes when the database is restored to an older state.
    /// Compare it for equality only.
    public var epoch: String
    /// The receipts that are disabled in this conversation, fixed at creation.
    public var receiptPolicy: ReceiptPolicy
    /// Creates a conversation. `participants` must be sorted by user id.
    public init(
        id: ConversationID, createdAt: Timestamp, isDistinct: Bool, participants: [BasicIdentity],
        metadata: MetadataTree?, position: Position,
        epoch: String = "", receiptPolicy: ReceiptPolicy = []
    ) {
        self.id = id
        self.createdAt = createdAt
        self.isDistinct = isDistinct
        self.participants = participants
        self.metadata = metadata
        self.position = position
        self.epoch = epoch
        self.receiptPolicy = receiptPolicy
    }
}

/// One user's counts in a conversation, and the position at which they are valid.
///
/// Unread and total counts are computed from the message count that every change carries. They are not stored counters
/// (docs/architecture.md §4).
public struct UserCounts: Hashable, Sendable {
    /// The number of messages that do not count as unread: the user's own, read, hidden and deleted messages.
    public var excluded: Int64
    /// The number of messages that the user does not see: hidden by the user, or deleted for all.
    public var hidden: Int64
    /// The position of the last change these counts include. Counts with a lower position are outdated.
    public var position: Position
    /// Creates counts from the values in the database, which never decrease.
    public init(excluded: Int64, hidden: Int64, position: Position) {
        self.excluded = excluded
        self.hidden = hidden
        self.position = position
    }
    /// Returns `unread_message_count` for a conversation that has had `messageCount` messages.
    public func unread(of messageCount: Int64) -> Int64 { max(0, messageCount - excluded) }
    /// Returns `total_message_count` for a conversation that has had `messageCount` messages.
    public func total(of messageCount: Int64) -> Int64 { max(0, messageCount - hidden) }
}

/// A conversation from one user's point of view (docs/conformance.md §5.1).
public struct ConversationView: Hashable, Sendable {
    /// The shared conversation. A former participant sees its state at the time of leaving.
    public var conversation: Conversation
    /// False if the user left or was removed. The user then sees the conversation's state at that time, with
    /// `participants: []`.
    public var isParticipant: Bool
    /// The newest message that the user sees, excluding messages hidden by the user or sent after the user left; nil:
    /// none.
    public var lastMessage: Message?
    /// The user's own counts, which are never shown to other participants.
    public var counts: UserCounts
    /// The number of messages the conversation has had, deleted ones included. For a former participant, the number at
    /// the time of leaving.
    public var messageCount: Int64
    /// Creates a view. `counts` and `messageCount` must be from the same moment, or the derived counts are wrong.
    public init(
        conversation: Conversation, isParticipant: Bool, lastMessage: Message?, counts: UserCounts, messageCount: Int64
    ) {
        self.conversation = conversation
        self.isParticipant = isParticipant
        self.lastMessage = lastMessage
        self.counts = counts
        self.messageCount = messageCount
    }
    /// The `unread_message_count` member. For a former participant, the number of unread messages at the time of
    /// leaving.
    public var unreadCount: Int64 { counts.unread(of: messageCount) }
    /// The `total_message_count` member.
    public var totalCount: Int64 { counts.total(of: messageCount) }
}

/// The scope of a deletion (docs/conformance.md §5.7, §6.6).
public enum DeletionMode: String, Sendable {
    case allParticipants = "all_participants"
    case myDevices = "my_devices"
}

/// The order of a list of conversations (docs/conformance.md §5.2).
public enum ConversationOrder: String, Sendable {
    case createdAt = "created_at"
    case lastMessage = "last_message"
}

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

/// An operation of a client's patch of the participants (docs/conformance.md §5.5).
public enum ParticipantOperation: Hashable, Sendable {
    /// Adds a participant. No effect on a user who already takes part.
    case add(UserID)
    /// Removes a participant. No effect on a user who does not take part.
    case remove(UserID)
    /// Replaces all participants.
    case set([UserID])
}

/// The receipts that a conversation disables, fixed at its creation. Disabled receipts are still recorded for the
/// reader's own devices, but not shown to other users (docs/conformance.md §5.4).
public struct ReceiptPolicy: OptionSet, Hashable, Sendable {
    /// The bits as stored in the database and sent in the contracts.
    public let rawValue: Int32
    /// Creates a policy. Unknown bits are ignored.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Hides from other users that a message was delivered.
    public static let noDelivery = ReceiptPolicy(rawValue: 1)
    /// Hides from other users that a message was read.
    public static let noRead = ReceiptPolicy(rawValue: 2)
}
