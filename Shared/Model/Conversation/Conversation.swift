// SPDX-License-Identifier: Apache-2.0

/// A conversation as all its participants share it.
public struct Conversation: Hashable, Sendable {
    /// Chosen by the client that created it, or by that client's gateway (docs/conformance.md §1.9).
    public var id: ConversationID
    /// When it was created, whenever its participants joined; the default order of lists goes by it (docs/conformance.md §5.2).
    public var createdAt: Timestamp
    /// Whether creating another one of the same participants finds this one; false for good once they have changed (docs/conformance.md §5.4).
    public var isDistinct: Bool
    /// Sorted by user id.
    public var participants: [BasicIdentity]
    /// Nil: not loaded. The conversations service leaves it to the gateway, which asks the metadata service.
    public var metadata: MetadataTree?
    /// The last change that this value contains. Of a value composed of two sources it is the lower one (docs/architecture.md §6).
    public var position: Position
    /// Which history of the database this is true in: another one after it was restored to an older state. Opaque; only equality means anything.
    public var epoch: String
    /// Fixed at creation.
    public var receiptPolicy: ReceiptPolicy
    /// `participants` must be sorted by user id.
    public init(
        id: ConversationID, createdAt: Timestamp, isDistinct: Bool, participants: [BasicIdentity], metadata: MetadataTree?, position: Position,
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

/// The counts one user sees on a conversation, and the position up to which they are true.
///
/// They are arithmetic over a message count that every change carries, not counters kept up to date (docs/architecture.md §4).
public struct UserNumbers: Hashable, Sendable {
    /// Messages that do not count as unread: the user's own, read, hidden or deleted ones.
    public var uncounted: Int64
    /// Messages that the user does not see: hidden by the user, or deleted for all.
    public var hidden: Int64
    /// The last change these counts contain; others with a lower position are out of date.
    public var position: Position
    /// Takes the counts as the database keeps them for the user: neither ever falls.
    public init(uncounted: Int64, hidden: Int64, position: Position) {
        self.uncounted = uncounted
        self.hidden = hidden
        self.position = position
    }
    /// `unread_message_count` when the conversation has had `messageCount` messages.
    public func unread(of messageCount: Int64) -> Int64 { max(0, messageCount - uncounted) }
    /// `total_message_count` when the conversation has had `messageCount` messages.
    public func total(of messageCount: Int64) -> Int64 { max(0, messageCount - hidden) }
}

/// A conversation from one user's point of view (docs/conformance.md §5.1).
public struct ConversationView: Hashable, Sendable {
    /// What all share; a former participant is shown it as of their leaving.
    public var conversation: Conversation
    /// False for a user who left or was removed: they see the conversation as it was then, with `participants: []`.
    public var isParticipant: Bool
    /// The newest message the user sees, neither one they hid nor one later than their leaving; nil if there is none.
    public var lastMessage: Message?
    /// The user's own counts, which no other participant is ever shown.
    public var numbers: UserNumbers
    /// Messages the conversation has ever had, those deleted included; of a former participant, up to their leaving.
    public var messageCount: Int64
    /// `numbers` and `messageCount` must be of one moment, or what follows from them is wrong.
    public init(conversation: Conversation, isParticipant: Bool, lastMessage: Message?, numbers: UserNumbers, messageCount: Int64) {
        self.conversation = conversation
        self.isParticipant = isParticipant
        self.lastMessage = lastMessage
        self.numbers = numbers
        self.messageCount = messageCount
    }
    /// `unread_message_count`; of a former participant, as their messages say, what they had not read when they left.
    public var unreadCount: Int64 { numbers.unread(of: messageCount) }
    /// `total_message_count`.
    public var totalCount: Int64 { numbers.total(of: messageCount) }
}

/// Who a deletion is for (docs/conformance.md §5.7, §6.6).
public enum DeletionMode: String, Sendable {
    case allParticipants = "all_participants"
    case myDevices = "my_devices"
}

/// The order of a list of conversations (docs/conformance.md §5.2).
public enum ConversationOrder: String, Sendable {
    case createdAt = "created_at"
    case lastMessage = "last_message"
}
