// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A message as it was on this device at one moment. It does not change; ask the client for it again, or use a query controller, to see later states.
public struct Message: Hashable, Sendable, Identifiable {
    /// Does not change after the message is created.
    public var id: MessageID
    /// The conversation it is in.
    public var conversationID: ConversationID
    /// Its place in the order of the conversation; nil until the server has accepted it. Gaps between positions mean nothing.
    public var position: Int64?
    /// At least one.
    public var parts: [MessagePart]
    /// The sender. If the sender is not a user, only ``Identity/displayName`` is set.
    public var sender: Identity
    /// When the server accepted it, or, until then, when the app sent it.
    public var sentAt: Date
    /// When this device first saw it; for own messages when they were sent.
    public var receivedAt: Date
    /// When its parts were last changed; nil if never.
    public var updatedAt: Date?
    /// Whether another user sent it and this user has not read it.
    public var isUnread: Bool
    /// Whether the server has accepted it.
    public var isSent: Bool
    /// Why the server refused it; nil if it did not. A refused message stays: delete it, or send its parts in a new one.
    public var failure: StrataError?
    /// The status of the message for each recipient that the server reports.
    public var recipientStatusByUserID: [UserID: RecipientStatus]
    /// Whether it was deleted. Only in changes that tell of the deletion.
    public var isDeleted = false

    /// The status for one user: `invalid` for one who is not a participant, `pending` where the server says nothing.
    /// - Parameter participants: of the conversation.
    public func recipientStatus(for userID: UserID, participants: Set<UserID>) -> RecipientStatus {
        recipientStatusByUserID[userID] ?? (participants.contains(userID) ? .pending : .invalid)
    }

    /// The order of messages in a conversation: by position, and those not yet sent after all others. Never sort by time.
    public static func precedes(_ a: Message, _ b: Message) -> Bool { a.ordering < b.ordering }

    /// What the store sorts by: the position, or, for messages that are not sent, a number above all positions.
    var ordering: Int64 = 0
    var owner = SnapshotOwner(nil)
}

/// The status of a message for one recipient. It only moves forward.
public enum RecipientStatus: Int, Hashable, Sendable, Comparable {
    /// The user is not a participant.
    case invalid = -1
    /// The message has not reached the server.
    case pending = 0
    /// The server has it.
    case sent = 1
    /// A device of the recipient has it.
    case delivered = 2
    /// The recipient has read it.
    case read = 3

    /// The order of the statuses.
    public static func < (a: RecipientStatus, b: RecipientStatus) -> Bool { a.rawValue < b.rawValue }
}

/// One part of a message.
public struct MessagePart: Hashable, Sendable, Identifiable {
    /// Does not change after the part is created.
    public var id: UUID
    /// For example `text/plain`.
    public var mimeType: String
    /// The bytes, if they are on this device; see ``transferStatus``.
    public var data: Data?
    /// The file that holds downloaded content; nil for parts that are stored with the message.
    public var fileURL: URL?
    /// Bytes.
    public var size: Int
    /// Its place among the parts.
    public var index: Int
    /// Where its bytes are.
    public var transferStatus: ContentTransferStatus
    /// When it was last changed; nil if never.
    public var updatedAt: Date?
    /// Content that is kept beside the message; nil for parts stored with it.
    public var contentID: ContentID?
    /// The message it is a part of; nil for the parts of announcements.
    public var messageID: MessageID?
    var owner = SnapshotOwner(nil)

    /// The text of a part of type `text/…`; nil for others, and while its bytes are not here.
    public var text: String? { mimeType.hasPrefix("text/") ? data.flatMap { String(data: $0, encoding: .utf8) } : nil }
}

/// Where the bytes of a part are.
public enum ContentTransferStatus: Int, Hashable, Sendable {
    case awaitingUpload = 0
    case uploading = 1
    /// On this device, or with the message.
    case complete = 2
    case readyForDownload = 3
    case downloading = 4
}

/// An announcement: a message of the operator to many users, in no conversation.
public struct Announcement: Hashable, Sendable, Identifiable {
    /// Given by the operator.
    public var id: AnnouncementID
    /// Its place among the announcements.
    public var position: Int64
    /// At least one.
    public var parts: [MessagePart]
    /// The sender. If the sender is not a user, only ``Identity/displayName`` is set.
    public var sender: Identity
    /// When the operator sent it.
    public var sentAt: Date
    /// When it arrived on this device.
    public var receivedAt: Date
    /// Whether this user has not read it.
    public var isUnread: Bool
    /// Whether it was deleted. Only in changes that tell of the deletion.
    public var isDeleted = false
    var owner = SnapshotOwner(nil)
}
