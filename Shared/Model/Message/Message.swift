// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// One piece of a message, kept verbatim (spec 6.2).
public struct MessagePart: Hashable, Sendable {
    public var id: UUID
    public var mimeType: String
    public var body: String?
    /// `base64` or nil.
    public var encoding: String?
    /// Bytes of the decoded content.
    public var size: Int
    public init(id: UUID, mimeType: String, body: String?, encoding: String? = nil, size: Int) {
        self.id = id
        self.mimeType = mimeType
        self.body = body
        self.encoding = encoding
        self.size = size
    }
}

/// How far a message came with one recipient. It only ever moves forward.
public enum RecipientStatus: Int, Comparable, Sendable {
    case sent = 0, delivered = 1, read = 2
    public static func < (a: RecipientStatus, b: RecipientStatus) -> Bool { a.rawValue < b.rawValue }
    /// The word on the wire.
    public var name: String {
        switch self {
        case .sent: "sent"
        case .delivered: "delivered"
        case .read: "read"
        }
    }
}

/// A message as stored, the same for all its readers; what depends on the reader (`is_unread`) follows from `recipients`.
public struct Message: Hashable, Sendable {
    /// One recipient's status. The sender is among them, always as `read`.
    public struct Recipient: Hashable, Sendable {
        public var userID: UserID
        public var status: RecipientStatus
        public init(userID: UserID, status: RecipientStatus) {
            self.userID = userID
            self.status = status
        }
    }
    public var id: MessageID
    public var conversationID: ConversationID
    /// Of the change that created it.
    public var position: Position
    /// 1, 2, 3, … within the conversation; never shown to clients.
    public var ordinal: Int64
    public var sender: BasicIdentity
    public var sentAt: Timestamp
    public var parts: [MessagePart]
    /// Sorted by user id, which looking somebody up relies on.
    public var recipients: [Recipient]
    /// The `notification` object of the request, as JSON text; delivered to recipients with the `create` packet only.
    public var notification: String?
    public init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: BasicIdentity, sentAt: Timestamp,
        parts: [MessagePart], recipients: [Recipient], notification: String? = nil
    ) {
        self.id = id
        self.conversationID = conversationID
        self.position = position
        self.ordinal = ordinal
        self.sender = sender
        self.sentAt = sentAt
        self.parts = parts
        self.recipients = recipients
        self.notification = notification
    }

    /// The status of `userID`, or nil if he is not among the recipients.
    public func status(of userID: UserID) -> RecipientStatus? {
        var (low, high) = (0, recipients.count)
        while low < high {
            let middle = (low + high) / 2
            if recipients[middle].userID < userID { low = middle + 1 } else { high = middle }
        }
        return low < recipients.count && recipients[low].userID == userID ? recipients[low].status : nil
    }
    /// Whether the message counts as unread for `userID`.
    public func isUnread(by userID: UserID) -> Bool { status(of: userID).map { $0 < .read } ?? false }
}

/// The two receipts a client can give.
public enum ReceiptKind: String, Sendable { case delivery, read }
