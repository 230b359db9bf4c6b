// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// A part of a message, stored verbatim (docs/conformance.md §6.2).
public struct MessagePart: Hashable, Sendable {
    /// The id, unique within the message. Version 2.0 clients see the part's index instead (docs/conformance.md §15).
    public var id: UUID
    /// The MIME type with its parameters: any non-empty text. Clients encode the structure of a message in the
    /// parameters.
    public var mimeType: String
    /// The inline content, at most ``Limits/inlinePartUnits`` long; nil if the content is in ``contentID``.
    public var body: String?
    /// The encoding of ``body``: `base64` or nil.
    public var encoding: String?
    /// The size of the decoded content in bytes, inline or rich.
    public var size: Int
    /// The id of the rich content; nil if the content is inline (docs/conformance.md §8).
    public var contentID: ContentID?
    /// The time of the part's last change; nil: never.
    public var updatedAt: Timestamp?
    /// The size of the rich content as stated in a request, used until the service has looked up ``size``; nil if not
    /// stated. Never stored or shown.
    public var statedSize: Int?
    /// Creates a part. `size` is not checked, because the reader of the request has counted it.
    public init(
        id: UUID, mimeType: String, body: String?, encoding: String? = nil, size: Int, contentID: ContentID? = nil,
        updatedAt: Timestamp? = nil,
        statedSize: Int? = nil
    ) {
        self.id = id
        self.mimeType = mimeType
        self.body = body
        self.encoding = encoding
        self.size = size
        self.contentID = contentID
        self.updatedAt = updatedAt
        self.statedSize = statedSize
    }
}

/// A recipient's status of a message. It only moves forward.
public enum RecipientStatus: Int, Comparable, Sendable {
    case sent = 0, delivered = 1, read = 2
    /// Compares by the order of a message's progress: `sent`, `delivered`, `read`.
    public static func < (a: RecipientStatus, b: RecipientStatus) -> Bool { a.rawValue < b.rawValue }
    /// The status's name on the wire.
    public var name: String {
        switch self {
        case .sent: "sent"
        case .delivered: "delivered"
        case .read: "read"
        }
    }
}

/// The sender shown on a message or an announcement.
public enum MessageSender: Hashable, Sendable {
    /// The app's own server, under a name. This sender cannot receive messages.
    case name(String)
    case user(BasicIdentity)

    /// The sending user; nil for a name.
    public var userID: UserID? {
        switch self {
        case .name: nil
        case .user(let identity): identity.userID
        }
    }
}

/// A stored message, equal for all readers. State that depends on the reader (`is_unread`) derives from `recipients`.
public struct Message: Hashable, Sendable {
    /// A recipient's status. A sender who takes part is a recipient with status `read`.
    public struct Recipient: Hashable, Sendable {
        /// A participant at the time of sending, or a user who joined later.
        public var userID: UserID
        /// The status, which only moves forward. It is `read` from the beginning for the sender and for users who
        /// joined after the message was sent.
        public var status: RecipientStatus
        /// The status shown to other users. It is lower than ``status`` if the conversation's ``ReceiptPolicy``
        /// disables receipts.
        public var shownStatus: RecipientStatus
        /// Creates a recipient. In a large conversation the status is shown only to the sender and this recipient,
        /// otherwise to all participants.
        public init(userID: UserID, status: RecipientStatus, shownStatus: RecipientStatus? = nil) {
            self.userID = userID
            self.status = status
            self.shownStatus = shownStatus ?? status
        }
    }
    /// The id, chosen by the sending client or by that client's gateway (docs/conformance.md §1.9).
    public var id: MessageID
    /// The conversation of the message, which never changes.
    public var conversationID: ConversationID
    /// The position of the change that created the message.
    public var position: Position
    /// The message's number within the conversation: 1, 2, 3, … Never shown to clients.
    public var ordinal: Int64
    /// The sender. A user has the current display name, not that at the time of sending.
    public var sender: MessageSender
    /// The server's time, equal to that of the creating change. It is never less than that of the preceding message.
    public var sentAt: Timestamp
    /// The parts in the order of the request: at least one, at most as many as the service allows.
    public var parts: [MessagePart]
    /// The recipients, sorted by user id for binary search. A sender who does not take part in the conversation is not
    /// among them.
    public var recipients: [Recipient]
    /// The `notification` object of the request, as JSON text. Recipients receive it only with the `create` packet.
    public var notification: String?
    /// The time of the last change of a part; nil: never.
    public var updatedAt: Timestamp?
    /// The receipts that the conversation disables.
    public var receiptPolicy: ReceiptPolicy
    /// Creates a message. `recipients` must be sorted by user id and include a sender who takes part.
    public init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: MessageSender,
        sentAt: Timestamp,
        parts: [MessagePart], recipients: [Recipient], notification: String? = nil, updatedAt: Timestamp? = nil,
        receiptPolicy: ReceiptPolicy = []
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
        self.updatedAt = updatedAt
        self.receiptPolicy = receiptPolicy
    }

    /// Returns the status of `userID`, or nil if that user is not a recipient.
    public func status(of userID: UserID) -> RecipientStatus? {
        var (low, high) = (0, recipients.count)
        while low < high {
            let middle = (low + high) / 2
            if recipients[middle].userID < userID { low = middle + 1 } else { high = middle }
        }
        return low < recipients.count && recipients[low].userID == userID ? recipients[low].status : nil
    }
    /// Returns true if the message counts as unread for `userID`.
    public func isUnread(by userID: UserID) -> Bool { status(of: userID).map { $0 < .read } ?? false }
}

/// The receipts that a client can give.
public enum ReceiptKind: String, Sendable { case delivery, read }
