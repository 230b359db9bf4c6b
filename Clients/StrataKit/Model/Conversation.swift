// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A conversation as it was on this device at one moment. It does not change; ask the client for it again, or use a query controller, to see later states.
public struct Conversation: Hashable, Sendable, Identifiable {
    /// Does not change, with one exception: if another user created the same distinct conversation first, this one takes the other's id. The old id
    /// still finds it.
    public var id: ConversationID
    /// The participants, with this user; empty once this user was removed.
    public var participants: Set<Identity>
    /// The time of its creation: on this device for own conversations until the server has accepted them, on the server for all others.
    public var createdAt: Date
    /// The newest message on this device.
    public var lastMessage: Message?
    /// Whether an unread message of it is on this device.
    public var hasUnreadMessages: Bool
    /// Whether it is the one distinct conversation of its participants.
    public var isDistinct: Bool
    /// Whether it was deleted. Only in changes that tell of the deletion.
    public var isDeleted = false
    /// Whether other participants see deliveries. Fixed when the conversation is created.
    public var deliveryReceiptsEnabled: Bool
    /// Whether other participants see what was read. Fixed when the conversation is created.
    public var readReceiptsEnabled: Bool
    /// Messages, on this device or not.
    public var totalMessageCount: Int
    /// Unread messages, on this device or not.
    public var totalUnreadMessageCount: Int
    /// Values that participants have set for the conversation. To change it, call ``setMetadata(_:merge:)`` and its siblings.
    public internal(set) var metadata: Metadata
    var owner = SnapshotOwner(nil)

    /// The ids of the participants that are users.
    public var participantIDs: Set<UserID> { Set(participants.compactMap(\.userID)) }

    /// Options of a new conversation.
    public struct Options: Sendable, Hashable {
        /// Whether these participants share one such conversation.
        public var isDistinct: Bool
        /// Whether other participants see deliveries. Turn it off for more than a few participants: receipts grow with participants times messages.
        public var deliveryReceipts: Bool
        /// Whether other participants see what was read.
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

/// The users for whom something is deleted.
public enum DeletionMode: String, Sendable, Hashable, Codable {
    /// For this user, on all their devices. Others keep it.
    case myDevices = "my_devices"
    /// For all participants, for good.
    case allParticipants = "all_participants"
}

/// The existing messages that are fetched automatically. New messages always arrive while the user is signed in, and missed ones with the next connection.
public enum SyncPolicy: Hashable, Sendable, Codable {
    /// All messages. Takes bandwidth, and time at the first start.
    case completeHistory
    /// In each conversation all from the first unread one on; the newest alone if all are read.
    case unreadOnly
    /// In each conversation the newest `count`.
    case partialHistory(count: Int = 25)
}
