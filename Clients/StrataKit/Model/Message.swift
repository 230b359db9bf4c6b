// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A snapshot of a message on this device. It does not change. To see later states, request the message again from the
/// client or use a query controller.
public struct Message: Hashable, Sendable, Identifiable {
    /// The message's id, which never changes.
    public var id: MessageID
    /// The id of the message's conversation.
    public var conversationID: ConversationID
    /// The position in the order of the conversation; nil until the server has accepted the message. Gaps between
    /// positions have no meaning.
    public var position: Int64?
    /// The parts of the message, at least one.
    public var parts: [MessagePart]
    /// The sender. If the sender is not a user, only ``Identity/displayName`` is set.
    public var sender: Identity
    /// The time at which the server accepted the message; until then, the time at which the app sent it.
    public var sentAt: Date
    /// The time at which the message first reached this device; for own messages, the time of sending.
    public var receivedAt: Date
    /// The time of the last change of the message's parts; nil if they never changed.
    public var updatedAt: Date?
    /// A Boolean value that indicates whether another user sent the message and this user has not read it.
    public var isUnread: Bool
    /// A Boolean value that indicates whether the server has accepted the message.
    public var isSent: Bool
    /// The reason for the server's refusal; nil if the message was not refused. A refused message stays on the device:
    /// delete it, or send its parts in a new message.
    public var failure: StrataError?
    /// The status of the message for each recipient that the server reports.
    public var recipientStatusByUserID: [UserID: RecipientStatus]
    /// A Boolean value that indicates whether the message was deleted. True only in changes that report the deletion.
    public var isDeleted = false

    /// Returns the status for one user: `invalid` if the user is not a participant, `pending` if the server reports
    /// none.
    /// - Parameter participants: the participants of the conversation.
    public func recipientStatus(for userID: UserID, participants: Set<UserID>) -> RecipientStatus {
        recipientStatusByUserID[userID] ?? (participants.contains(userID) ? .pending : .invalid)
    }

    /// Returns true if `a` precedes `b` in the order of a conversation: by position, unsent messages last. Never sort
    /// messages by time.
    public static func precedes(_ a: Message, _ b: Message) -> Bool { a.ordering < b.ordering }

    /// The sort key in the store: the position; for unsent messages, a number above all positions.
    var ordering: Int64 = 0
    var owner = SnapshotOwner(nil)
}

/// The status of a message for one recipient. It never moves backwards.
public enum RecipientStatus: Int, Hashable, Sendable, Comparable {
    /// The user is not a participant.
    case invalid = -1
    /// The message has not reached the server.
    case pending = 0
    /// The server has accepted the message.
    case sent = 1
    /// The message is on a device of the recipient.
    case delivered = 2
    /// The recipient has read the message.
    case read = 3

    /// Returns true if `a` precedes `b`.
    public static func < (a: RecipientStatus, b: RecipientStatus) -> Bool { a.rawValue < b.rawValue }
}

/// One part of a message.
public struct MessagePart: Hashable, Sendable, Identifiable {
    /// The part's id, which never changes.
    public var id: UUID
    /// The MIME type, for example `text/plain`.
    public var mimeType: String
    /// The bytes, if they are on this device; see ``transferStatus``.
    public var data: Data?
    /// The file that holds downloaded content; nil for inline parts.
    public var fileURL: URL?
    /// The size in bytes.
    public var size: Int
    /// The index of the part in its message.
    public var index: Int
    /// The location of the part's bytes.
    public var transferStatus: ContentTransferStatus
    /// The time of the part's last change; nil if it never changed.
    public var updatedAt: Date?
    /// The id of the part's content; nil for inline parts.
    public var contentID: ContentID?
    /// The id of the part's message; nil for parts of announcements.
    public var messageID: MessageID?
    var owner = SnapshotOwner(nil)

    /// The text of a part of type `text/…`; nil for other types, and while the bytes are not on this device.
    public var text: String? { mimeType.hasPrefix("text/") ? data.flatMap { String(data: $0, encoding: .utf8) } : nil }
}

/// The location of a part's bytes, and the state of their transfer.
public enum ContentTransferStatus: Int, Hashable, Sendable {
    case awaitingUpload = 0
    case uploading = 1
    /// The bytes are on this device, or inline in the message.
    case complete = 2
    case readyForDownload = 3
    case downloading = 4
}

/// An announcement: a message from the operator to many users, outside any conversation.
public struct Announcement: Hashable, Sendable, Identifiable {
    /// The id that the operator assigned.
    public var id: AnnouncementID
    /// The position in the order of announcements.
    public var position: Int64
    /// The parts of the announcement, at least one.
    public var parts: [MessagePart]
    /// The sender. If the sender is not a user, only ``Identity/displayName`` is set.
    public var sender: Identity
    /// The time at which the operator sent the announcement.
    public var sentAt: Date
    /// The time at which the announcement reached this device.
    public var receivedAt: Date
    /// A Boolean value that indicates whether this user has not read the announcement.
    public var isUnread: Bool
    /// A Boolean value that indicates whether the announcement was deleted. True only in changes that report the
    /// deletion.
    public var isDeleted = false
    var owner = SnapshotOwner(nil)
}
