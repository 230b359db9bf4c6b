// SPDX-License-Identifier: Apache-2.0
import Foundation
public import StrataModel

/// An id in JSON: its UUID.
extension ObjectID {
    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws { self.init(rawValue: try decoder.singleValueContainer().decode(UUID.self)) }
    /// Writes it as one text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension ConversationID: Codable {}
extension MessageID: Codable {}
extension AnnouncementID: Codable {}
extension ContentID: Codable {}

/// A user id in JSON: its text.
extension UserID: Codable {
    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws { self.init(trusted: try decoder.singleValueContainer().decode(String.self)) }
    /// Writes it as one text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// A conversation as the server shows it to this user, or, with pending changes applied, as the app sees it.
struct ConversationRecord: Codable, Hashable, Sendable {
    var id: ConversationID
    /// Microseconds since 1970, like all times in the store.
    var createdAt: Int64
    /// In byte order; empty if this user is not in it.
    var participants: [UserID]
    var isDistinct: Bool
    var deliveryReceipts: Bool
    var readReceipts: Bool
    var metadata: [String: String]
    var unreadCount: Int
    var totalCount: Int
    /// False if the conversation is not sent yet, or is to be deleted.
    var isVisible = true

    var participantLines: String { participants.map(\.rawValue).joined(separator: "\n") }

    /// The metadata as a tree. ``metadata`` has each text by its key path.
    var tree: MetadataTree {
        get { MetadataTree(leaves: metadata.map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) }) }
        set { metadata = newValue.leaves.reduce(into: [:]) { $0[$1.path.dotted] = $1.value } }
    }
}

/// A message as the server shows it to this user, or, with pending changes applied, as the app sees it.
struct MessageRecord: Codable, Hashable, Sendable {
    var id: MessageID
    var conversation: ConversationID
    /// Nil if the server does not have the message.
    var position: Int64?
    /// The position. For a message that is not sent: ``unsent`` plus the number of its operation.
    var ordering: Int64
    /// Nil for a sender that is no user.
    var sender: UserID?
    var senderName: String?
    var sentAt: Int64
    /// When this device received the message first. The server does not know this time.
    var receivedAt: Int64
    var updatedAt: Int64?
    var isUnread: Bool
    var isSent: Bool
    var failure: StoredError?
    var statuses: [UserID: RecipientStatus]
    var parts: [PartRecord]

    /// A value above every position. Messages that are not sent come last, in the order of sending.
    static let unsent: Int64 = 1 << 62
}

extension MessageRecord {
    /// The text of the statuses' column: one line for each recipient, with a digit and the user id.
    var statusLines: String {
        statuses.sorted { $0.key < $1.key }.map { "\($1.rawValue)\($0.rawValue)" }.joined(separator: "\n")
    }

    /// Reads the text that ``statusLines`` wrote, and skips lines of any other form.
    static func statuses(fromLines text: String) -> [UserID: RecipientStatus] {
        var statuses: [UserID: RecipientStatus] = [:]
        for line in text.split(separator: "\n") {
            guard let digit = line.first?.wholeNumberValue, let status = RecipientStatus(rawValue: digit) else { continue }
            statuses[UserID(trusted: String(line.dropFirst()))] = status
        }
        return statuses
    }
}

extension RecipientStatus: Codable {}

struct PartRecord: Codable, Hashable, Sendable {
    var id: UUID
    var mimeType: String
    /// Nil for content that is kept beside the message.
    var body: Data?
    var size: Int
    var content: ContentID?
    var downloadURL: String?
    var downloadExpires: Int64?
    var transferStatus: ContentTransferStatus = .complete
    /// The name of the file with the content, in the store's content folder.
    var file: String?
    /// When the content arrived on this device, was last read by the app, or was removed. Nil if it was never on this device.
    var usedAt: Int64?
    var updatedAt: Int64?
}

extension ContentTransferStatus: Codable {}

/// An identity as the server showed it: the whole identity, or its name and picture only.
struct IdentityRecord: Codable, Hashable, Sendable {
    var userID: UserID
    var displayName: String?
    var firstName: String?
    var lastName: String?
    var emailAddress: String?
    var phoneNumber: String?
    var avatarURL: String?
    var publicKey: String?
    var metadata: [String: String] = [:]
    var isFollowed = false
    /// True or nil: records of before do not say.
    var isBlocked: Bool?
    /// False if only a message or a list of participants told of the user.
    var isFull = false
    var presenceStatus: String?
    var lastSeenAt: Int64?

    /// Whether the server has told that others see the user as present now.
    var isOnline: Bool {
        switch presenceStatus.flatMap(PresenceStatus.init) {
        case .available, .busy, .away: true
        case .offline, .invisible, nil: false
        }
    }
}

/// An announcement as the server shows it to this user.
struct AnnouncementRecord: Codable, Hashable, Sendable {
    var id: AnnouncementID
    var position: Int64
    var sender: UserID?
    var senderName: String?
    var sentAt: Int64
    var receivedAt: Int64
    var isUnread: Bool
    var parts: [PartRecord]
}

/// An error of the server, stored with the object that it concerns.
struct StoredError: Codable, Hashable, Sendable {
    var number: Int
    var name: String
    var domain: String
    var message: String

    init(_ error: StrataError) {
        (number, name, domain, message) = (error.code.number, error.code.name, error.code.domain.rawValue, error.message)
    }

    var error: StrataError {
        StrataError(StrataError.Code(number, name, domain: .init(rawValue: domain) ?? .client), message)
    }
}

/// An ``OperationFailure`` as the store keeps it.
struct StoredFailure: Codable, Hashable, Sendable {
    var operation: String
    var id: UUID
    var conversation: UUID?
    var messages: [UUID]
    var error: StoredError

    init(_ failure: OperationFailure) {
        (operation, id, conversation) = (failure.operation, failure.id, failure.conversation?.rawValue)
        (messages, error) = (failure.messages.map(\.rawValue), StoredError(failure.error))
    }

    var failure: OperationFailure {
        OperationFailure(
            operation: operation, id: id, conversation: conversation.map { ConversationID(rawValue: $0) },
            messages: messages.map { MessageID(rawValue: $0) }, error: error.error)
    }
}

extension Int64 {
    /// Microseconds since 1970 as a date.
    var date: Date { Date(timeIntervalSince1970: Double(self) / 1_000_000) }
}

extension Date {
    /// Microseconds since 1970. For a date outside the range this is the nearest possible number.
    var microseconds: Int64 {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        return Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }
}
