// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A snapshot of a conversation on this device. It does not change. To see later states, request the conversation again
/// from the client or use a query controller.
public struct Conversation: Hashable, Sendable, Identifiable {
    /// The conversation's id. It is stable, with one exception: if another user created the same distinct conversation
    /// first, this one takes the other's id. Lookups by the old id still find it.
    public var id: ConversationID
    /// The participants, including this user; empty after this user was removed.
    public var participants: Set<Identity>
    /// The creation time. By this device's clock for own conversations that the server has not accepted yet, otherwise
    /// by the server's clock.
    public var createdAt: Date
    /// The newest message on this device.
    public var lastMessage: Message?
    /// A Boolean value that indicates whether an unread message of the conversation is on this device.
    public var hasUnreadMessages: Bool
    /// A Boolean value that indicates whether this is the one distinct conversation of its participants.
    public var isDistinct: Bool
    /// A Boolean value that indicates whether the conversation was deleted. True only in changes that report the
    /// deletion.
    public var isDeleted = false
    /// A Boolean value that indicates whether participants receive delivery receipts. Fixed at creation.
    public var deliveryReceiptsEnabled: Bool
    /// A Boolean value that indicates whether participants receive read receipts. Fixed at creation.
    public var readReceiptsEnabled: Bool
    /// The total number of messages, including those that are not on this device.
    public var totalMessageCount: Int
    /// The number of unread messages, including those that are not on this device.
    public var totalUnreadMessageCount: Int
    /// The values that participants have set for the conversation. Change them with ``setMetadata(_:merge:)`` and
    /// related methods.
    public internal(set) var metadata: Metadata
    var owner = SnapshotOwner(nil)

    /// The ids of the participants that are users.
    public var participantIDs: Set<UserID> { Set(participants.compactMap(\.userID)) }

    /// The options of a new conversation.
    public struct Options: Sendable, Hashable {
        /// A Boolean value that indicates whether these participants share a single distinct conversation.
        public var isDistinct: Bool
        /// A Boolean value that indicates whether participants receive delivery receipts. Disable them for large
        /// groups, because the number of receipts grows with participants times messages.
        public var deliveryReceipts: Bool
        /// A Boolean value that indicates whether participants receive read receipts.
        public var readReceipts: Bool
        /// The initial metadata.
        public var metadata: Metadata

        /// Creates options. The default is a distinct conversation with both kinds of receipts and without metadata.
        public init(
            isDistinct: Bool = true, deliveryReceipts: Bool = true, readReceipts: Bool = true, metadata: Metadata = [:]
        ) {
            self.isDistinct = isDistinct
            self.deliveryReceipts = deliveryReceipts
            self.readReceipts = readReceipts
            self.metadata = metadata
        }
    }
}

/// The scope of a deletion.
public enum DeletionMode: String, Sendable, Hashable, Codable {
    /// This user's devices only. Other participants keep the object.
    case myDevices = "my_devices"
    /// All participants, permanently.
    case allParticipants = "all_participants"
}

/// The existing messages that are fetched automatically. New messages always arrive while the user is signed in; missed
/// messages arrive with the next connection.
public enum SyncPolicy: Hashable, Sendable, Codable {
    /// All messages. The first start takes more time and bandwidth.
    case completeHistory
    /// In each conversation, all messages from the first unread one; only the newest if all are read.
    case unreadOnly
    /// In each conversation, the newest `count` messages.
    case partialHistory(count: Int = 25)
}
