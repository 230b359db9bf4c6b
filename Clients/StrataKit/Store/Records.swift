// SPDX-License-Identifier: Apache-2.0
import Foundation
public import StrataModel

/// The JSON encoding of ids: their UUIDs.
extension ObjectID {
    /// Decodes an id.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(UUID.self))
    }
    /// Encodes the id as a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension ConversationID: Codable {}
extension MessageID: Codable {}
extension AnnouncementID: Codable {}
extension ContentID: Codable {}

/// The JSON encoding of user ids: their texts.
extension UserID: Codable {
    /// Decodes a user id.
    public init(from decoder: any Decoder) throws {
        self.init(trusted: try decoder.singleValueContainer().decode(String.self))
    }
    /// Encodes the user id as a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// A conversation in the store: either the server's state for this user, or that state with pending changes applied.
struct ConversationRecord: Codable, Hashable, Sendable {
    var id: ConversationID
    /// The creation time in microseconds since 1970, like all times in the store.
    var createdAt: Int64
    /// The participants in byte order; empty if this user is not a participant.
    var participants: [UserID]
    var isDistinct: Bool
    var deliveryReceipts: Bool
    var readReceipts: Bool
    var metadata: [String: String]
    var unreadCount: Int
    var totalCount: Int
    /// False if the conversation is not sent yet, or if its deletion is pending.
    var isVisible = true

    var participantLines: String { participants.map(\.rawValue).joined(separator: "\n") }

    /// The metadata as a tree. ``metadata`` maps full key paths to texts.
    var tree: MetadataTree {
        get { MetadataTree(leaves: metadata.map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) }) }
        set { metadata = newValue.leaves.reduce(into: [:]) { $0[$1.path.dotted] = $1.value } }
    }
}

/// A message in the store: either the server's state for this user, or that state with pending changes applied.
struct MessageRecord: Codable, Hashable, Sendable {
    var id: MessageID
    var conversation: ConversationID
    /// The position; nil if the server does not have the message.
    var position: Int64?
    /// The sort key: the position; for unsent messages, ``unsent`` plus the operation's sequence number.
    var ordering: Int64
    /// The sender; nil if the sender is not a user.
    var sender: UserID?
    var senderName: String?
    var sentAt: Int64
    /// The time at which this device first received the message. The server does not know it.
    var receivedAt: Int64
    var updatedAt: Int64?
    var isUnread: Bool
    var isSent: Bool
    var failure: StoredError?
    var statuses: [UserID: RecipientStatus]
    var parts: [PartRecord]

    /// The base of unsent messages' sort keys, above every position. Unsent messages come last, in sending order.
    static let unsent: Int64 = 1 << 62
}

extension MessageRecord {
    /// The statuses in their stored form: one line per recipient, with a digit and the user id.
    var statusLines: String {
        statuses.sorted { $0.key < $1.key }.map { "\($1.rawValue)\($0.rawValue)" }.joined(separator: "\n")
    }

    /// Parses the output of ``statusLines``. Malformed lines are skipped.
    static func statuses(fromLines text: String) -> [UserID: RecipientStatus] {
        var statuses: [UserID: RecipientStatus] = [:]
        for line in text.split(separator: "\n") {
            guard let digit = line.first?.wholeNumberValue, let status = RecipientStatus(rawValue: digit) else {
                continue
            }
            statuses[UserID(trusted: String(line.dropFirst()))] = status
        }
        return statuses
    }
}

extension RecipientStatus: Codable {}

struct PartRecord: Codable, Hashable, Sendable {
    var id: UUID
    var mimeType: String
    /// The inline bytes; nil for separately stored content.
    var body: Data?
    var size: Int
    var content: ContentID?
    var downloadURL: String?
    var downloadExpires: Int64?
    var transferStatus: ContentTransferStatus = .complete
    /// The name of the content's file in the store's content folder.
    var file: String?
    /// The time at which the content was downloaded, last read by the app, or removed. nil if it was never on this
    /// device.
    var usedAt: Int64?
    var updatedAt: Int64?
}

extension ContentTransferStatus: Codable {}

/// An identity as received from the server: either complete, or only the name and picture.
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
    /// True if the user is blocked, otherwise nil. Older records do not contain this field.
    var isBlocked: Bool?
    /// False if the user is only known from a message or a list of participants.
    var isFull = false
    var presenceStatus: String?
    var lastSeenAt: Int64?

    /// True if other users see this user as present, according to the server.
    var isOnline: Bool {
        switch presenceStatus.flatMap(PresenceStatus.init) {
        case .available, .busy, .away: true
        case .offline, .invisible, nil: false
        }
    }
}

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

/// A server error, stored with the object that it concerns.
struct StoredError: Codable, Hashable, Sendable {
    var number: Int
    var name: String
    var domain: String
    var message: String

    init(_ error: StrataError) {
        (number, name, domain, message) = (
            error.code.number, error.code.name, error.code.domain.rawValue, error.message
        )
    }

    var error: StrataError {
        StrataError(StrataError.Code(number, name, domain: .init(rawValue: domain) ?? .client), message)
    }
}

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
    var date: Date { Date(timeIntervalSince1970: Double(self) / 1_000_000) }
}

extension Date {
    /// The number of microseconds since 1970. Dates outside the range are clamped.
    var microseconds: Int64 {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        return Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }
}

struct SyncProgress: Hashable, Sendable {
    /// The position of the last applied change of the conversation.
    var applied: Int64
    /// The position from which on all messages are on this device; nil: not even the newest message is known to be.
    var oldest: Int64?
    /// The goal for older messages; nil if none are to be fetched.
    var goal: HistoryGoal?
    /// The generation of the last listing that contained the conversation. During a listing, a conversation with an
    /// older generation may no longer exist on the server.
    var generation: Int64
}

/// The older messages of a conversation that are to be fetched. The goal is stored, so that the fetch continues after a
/// restart.
indirect enum HistoryGoal: Codable, Hashable, Sendable {
    case count(Int)
    case firstUnread
    case everything
    /// Fetch all messages down to this position again, because messages on this device may have changed or been
    /// deleted. Then continue with the previous goal.
    case position(Int64, then: HistoryGoal?)

    var next: HistoryGoal? { if case .position(_, let next) = self { next } else { nil } }
}

/// The progress of the whole synchronization, stored as one row.
struct SyncCursor: Codable, Hashable, Sendable {
    /// The time of the last applied packet, from which the next replay starts.
    var timestamp: String?
    var epoch: String?
    /// The last applied position of the user's own log.
    var userPosition: Int64 = 0
    /// The generation of the last listing that started.
    var generation: Int64 = 0
    /// The remaining loads of the current listing; nil if it is complete.
    var listing: Listing?

    struct Listing: Codable, Hashable, Sendable {
        /// The start of the next page of conversations; nil: the first page.
        var nextConversations: String?
        var hasConversations = false
        var nextIdentities: String?
        var hasIdentities = false
        var nextAnnouncements: String?
        var hasAnnouncements = false
        var nextBlocks: String?
        /// nil in stored listings that predate this list.
        var hasBlocks: Bool?

        var isComplete: Bool { hasConversations && hasIdentities && hasAnnouncements && hasBlocks == true }
    }
}
