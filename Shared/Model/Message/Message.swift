// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// One piece of a message, kept verbatim (docs/conformance.md §6.2).
public struct MessagePart: Hashable, Sendable {
    /// Unique within its message; clients of version 2.0 are shown the part's index instead (docs/conformance.md §15).
    public var id: UUID
    /// Any text but the empty one, parameters included: clients keep the structure of a message in them.
    public var mimeType: String
    /// Content sent inline, at most ``Limits/inlinePartUnits`` long; nil where it is in ``contentID`` instead.
    public var body: String?
    /// `base64` or nil.
    public var encoding: String?
    /// Bytes of the decoded content, inline or rich.
    public var size: Int
    /// Where the content is kept if it is not inline (docs/conformance.md §8).
    public var contentID: ContentID?
    /// When the part was changed last; nil: never.
    public var updatedAt: Timestamp?
    /// What a request says the size of its rich content is, until the service has looked up ``size``; nil where nothing is said. Never stored or shown.
    public var statedSize: Int?
    /// `size` is taken as it is: the reader of the request has counted it.
    public init(
        id: UUID, mimeType: String, body: String?, encoding: String? = nil, size: Int, contentID: ContentID? = nil, updatedAt: Timestamp? = nil,
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

/// How far a message came with one recipient. It only ever moves forward.
public enum RecipientStatus: Int, Comparable, Sendable {
    case sent = 0, delivered = 1, read = 2
    /// The way a message goes: `sent`, `delivered`, `read`.
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

/// Who is shown as having sent a message or an announcement.
public enum MessageSender: Hashable, Sendable {
    /// The app's own server, under a name: a sender that cannot be written to.
    case name(String)
    case user(BasicIdentity)

    /// Nil for a name.
    public var userID: UserID? {
        switch self {
        case .name: nil
        case .user(let identity): identity.userID
        }
    }
}

/// A message as stored, the same for all its readers; what depends on the reader (`is_unread`) follows from `recipients`.
public struct Message: Hashable, Sendable {
    /// One recipient's status. A sender who takes part is among them, always as `read`.
    public struct Recipient: Hashable, Sendable {
        /// A participant when the message was sent, or one who came later.
        public var userID: UserID
        /// Moves forward only; `read` from the beginning for the sender, and for one who came after the message was sent.
        public var status: RecipientStatus
        /// What others are shown: less than ``status`` where the conversation's ``ReceiptPolicy`` says so.
        public var shownStatus: RecipientStatus
        /// Shown to all participants, or in a large conversation to the sender and this recipient only.
        public init(userID: UserID, status: RecipientStatus, shownStatus: RecipientStatus? = nil) {
            self.userID = userID
            self.status = status
            self.shownStatus = shownStatus ?? status
        }
    }
    /// Chosen by the client that sent it, or by that client's gateway (docs/conformance.md §1.9).
    public var id: MessageID
    /// Where it was sent; a message never moves.
    public var conversationID: ConversationID
    /// Of the change that created it.
    public var position: Position
    /// 1, 2, 3, … within the conversation; never shown to clients.
    public var ordinal: Int64
    /// A user with the display name of now, not of the time of sending.
    public var sender: MessageSender
    /// The server's time, equal to that of the change that created it; never less than that of the message before.
    public var sentAt: Timestamp
    /// At least one, and at most as many as the service allows, in the order of the request.
    public var parts: [MessagePart]
    /// Sorted by user id, which looking a recipient up relies on. A sender who does not take part in the conversation is not among them.
    public var recipients: [Recipient]
    /// The `notification` object of the request, as JSON text; delivered to recipients with the `create` packet only.
    public var notification: String?
    /// When one of its parts was changed last; nil: never.
    public var updatedAt: Timestamp?
    /// Of its conversation: which receipts other users are not shown.
    public var receiptPolicy: ReceiptPolicy
    /// `recipients` must be sorted by user id, and have a sender who takes part among them.
    public init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: MessageSender, sentAt: Timestamp,
        parts: [MessagePart], recipients: [Recipient], notification: String? = nil, updatedAt: Timestamp? = nil, receiptPolicy: ReceiptPolicy = []
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

    /// The status of `userID`, or nil if that user is not among the recipients.
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
