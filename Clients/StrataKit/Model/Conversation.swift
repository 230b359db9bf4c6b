// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A conversation as it was on this device at one moment. It does not change; ask the client for it again, or use a query controller, to see later states.
public struct Conversation: Hashable, Sendable, Identifiable {
    /// Final from the moment the conversation is made, except that a distinct conversation that another user made first takes that one's id: the old id
    /// then still finds it.
    public var id: ConversationID
    /// Who is in it, this user among them; empty once this user was removed.
    public var participants: Set<Identity>
    /// When it was made: on this device for own conversations until the server has accepted them, on the server for all others.
    public var createdAt: Date
    /// The newest message on this device.
    public var lastMessage: Message?
    /// Whether an unread message of it is on this device.
    public var hasUnreadMessages: Bool
    /// Whether it is the one distinct conversation of its participants.
    public var isDistinct: Bool
    /// Whether it was deleted. Only in changes that tell of the deletion.
    public var isDeleted = false
    /// Whether deliveries are told to others; decided when the conversation is made.
    public var deliveryReceiptsEnabled: Bool
    /// Whether reading is told to others; decided when the conversation is made.
    public var readReceiptsEnabled: Bool
    /// Messages, on this device or not.
    public var totalMessageCount: Int
    /// Unread messages, on this device or not.
    public var totalUnreadMessageCount: Int
    /// What participants have said about the conversation. To change it, call ``setMetadata(_:merge:)`` and its siblings.
    public internal(set) var metadata: Metadata
    var owner = SnapshotOwner(nil)

    /// The ids of the participants that are users.
    public var participantIDs: Set<UserID> { Set(participants.compactMap(\.userID)) }

    /// How a conversation is made.
    public struct Options: Sendable, Hashable {
        /// Whether these participants share one such conversation.
        public var isDistinct: Bool
        /// Whether deliveries are told to others. Turn it off for more than a few participants: receipts grow with participants times messages.
        public var deliveryReceipts: Bool
        /// Whether reading is told to others.
        public var readReceipts: Bool
        /// The first metadata.
        public var metadata: Metadata

        /// Distinct, with both kinds of receipts and without metadata, unless said otherwise.
        public init(isDistinct: Bool = true, deliveryReceipts: Bool = true, readReceipts: Bool = true, metadata: Metadata = [:]) {
            self.isDistinct = isDistinct
            self.deliveryReceipts = deliveryReceipts
            self.readReceipts = readReceipts
            self.metadata = metadata
        }
    }
}

/// For whom something is deleted.
public enum DeletionMode: String, Sendable, Hashable, Codable {
    /// For this user, on all their devices. Others keep it.
    case myDevices = "my_devices"
    /// For all participants, for good.
    case allParticipants = "all_participants"
}

/// Which messages that exist already are fetched by themselves. What comes while the user is signed in always comes, and so does what was missed.
public enum SyncPolicy: Hashable, Sendable, Codable {
    /// All messages. Takes bandwidth, and time at the first start.
    case completeHistory
    /// In each conversation all from the first unread one on; the newest alone if all are read.
    case unreadOnly
    /// In each conversation the newest `count`.
    case partialHistory(count: Int = 25)
}
