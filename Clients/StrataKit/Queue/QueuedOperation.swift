// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// A change by the user that the server has not confirmed. It stays in the store until then.
struct QueuedOperation: Codable, Hashable, Sendable, Identifiable {
    /// The idempotency key of the change: a repeated request after a lost answer has no effect.
    let id: UUID
    /// The sequence number, which defines the order of changes.
    let sequence: Int64
    /// The time of the change, in microseconds since 1970.
    let madeAt: Int64
    /// The conversation that the change belongs to, if any. The id of a distinct conversation can change.
    var conversation: ConversationID?
    var change: LocalChange
    var state = State.waiting
    /// The number of failed attempts with a connection.
    var tries = 0
    /// The epoch of the database at the last attempt, if known.
    var epoch: String?
    /// The generation of the listing at the last attempt.
    var generation: Int64?
    /// The uploads of the change's parts, by part id.
    var uploads: [UUID: Upload]?

    struct Upload: Codable, Hashable, Sendable {
        /// The idempotency key of the upload.
        var name: UUID
        /// The time at which the upload completed; nil: not uploaded, or to be uploaded again.
        var finishedAt: Int64?
        /// The number of completed uploads.
        var times = 0
    }

    enum State: Codable, Hashable, Sendable {
        /// A conversation that was created but has no message yet. It is not visible, not sent, and discarded at a
        /// restart.
        case draft
        /// Not sent yet, so it can be merged with other operations.
        case waiting
        /// Sent at least once. The server may have processed it, so a retry must be identical.
        case attempted
        /// Processed by the server. It stays in the overlay until packets up to these positions have been applied.
        case answered(Positions)
        /// Refused. Only messages stay in the queue in this state, so that they are visible as failed.
        case failed(StoredError)
    }

    struct Positions: Codable, Hashable, Sendable {
        /// The position in the conversation's log.
        var conversation: Int64?
        /// The position in the user's own log.
        var user: Int64?
    }
}

/// A change by the user. Indirect, because queues are copied and sorted often; a copy then costs one reference count.
indirect enum LocalChange: Codable, Hashable, Sendable {
    case createConversation(NewConversation)
    case sendMessage(NewMessage)
    case patchMetadata([MetadataStep])
    case changeParticipants([ParticipantStep])
    case changeParts(MessageID, PartChange)
    case deleteMessage(MessageID, DeletionMode)
    /// `upTo` is the last position of the conversation that this device had applied. Only used with
    /// ``DeletionMode/myDevices``.
    case deleteConversation(DeletionMode, upTo: Int64, leaves: Bool)
    case markRead([MessageID])
    case confirmDelivery([MessageID])
    case follow([UserID])
    case unfollow([UserID])
    case block(UserID)
    case unblock(UserID)
    case markAnnouncementRead(AnnouncementID)
    case deleteAnnouncement(AnnouncementID)

    struct NewConversation: Codable, Hashable, Sendable {
        /// The participants in byte order, including the creator.
        var participants: [UserID]
        var isDistinct: Bool
        var deliveryReceipts: Bool
        var readReceipts: Bool
        /// The texts by their full key paths.
        var metadata: [String: String]
    }

    struct NewMessage: Codable, Hashable, Sendable {
        var id: MessageID
        var parts: [PartRecord]
        /// The notification for recipients, as JSON; nil for none.
        var notification: String?
    }

    struct MetadataStep: Codable, Hashable, Sendable {
        /// The key path. Empty for the root, which only a deletion of all metadata uses.
        var path: String
        /// The texts by their full key paths, all at or below ``path``; nil deletes the subtree.
        var values: [String: String]?

        var operation: MetadataOperation {
            guard let values, !values.isEmpty else { return .delete(MetadataPath(trusted: path)) }
            return .set(
                MetadataPath(trusted: path),
                leaves: values.sorted { $0.key < $1.key }
                    .map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) })
        }
    }

    struct ParticipantStep: Codable, Hashable, Sendable {
        var user: UserID
        var isAdded: Bool
    }
}

enum PartChange: Codable, Hashable, Sendable {
    case add(PartRecord)
    case replace(UUID, PartRecord)
    case remove(UUID)
    case setAll([PartRecord])

    /// The part that must exist.
    var target: UUID? {
        switch self {
        case .replace(let id, _), .remove(let id): id
        case .add, .setAll: nil
        }
    }

    var parts: [PartRecord] {
        switch self {
        case .add(let part), .replace(_, let part): [part]
        case .remove: []
        case .setAll(let parts): parts
        }
    }

    /// Returns the change with other parts. A change without parts is returned unchanged.
    func withParts(_ parts: [PartRecord]) -> PartChange {
        switch (self, parts.first) {
        case (.add, let part?): .add(part)
        case (.replace(let id, _), let part?): .replace(id, part)
        case (.setAll, _): .setAll(parts)
        case (.add, nil), (.replace, nil), (.remove, _): self
        }
    }

    /// The change with the final part id: a replacement part takes the id of the part that it replaces.
    var keepingID: PartChange {
        guard case .replace(let id, var part) = self else { return self }
        part.id = id
        return .replace(id, part)
    }
}

extension LocalChange {
    var messages: [MessageID] {
        switch self {
        case .sendMessage(let message): [message.id]
        case .changeParts(let id, _), .deleteMessage(let id, _): [id]
        case .markRead(let ids): ids
        case .createConversation, .patchMetadata, .changeParticipants, .deleteConversation, .confirmDelivery, .follow,
            .unfollow, .block, .unblock,
            .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    var users: [UserID] {
        switch self {
        case .follow(let users), .unfollow(let users): users
        case .block(let user), .unblock(let user): [user]
        case .createConversation, .sendMessage, .changeParts, .patchMetadata, .changeParticipants, .deleteMessage,
            .deleteConversation,
            .markRead, .confirmDelivery, .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    var name: String {
        switch self {
        case .createConversation: "createConversation"
        case .sendMessage: "sendMessage"
        case .patchMetadata: "setMetadata"
        case .changeParticipants: "changeParticipants"
        case .changeParts: "changeParts"
        case .deleteMessage: "deleteMessage"
        case .deleteConversation: "deleteConversation"
        case .markRead: "markAsRead"
        case .confirmDelivery: "confirmDelivery"
        case .follow: "follow"
        case .unfollow: "unfollow"
        case .block: "block"
        case .unblock: "unblock"
        case .markAnnouncementRead: "markAnnouncementAsRead"
        case .deleteAnnouncement: "deleteAnnouncement"
        }
    }

    /// True for receipts, which never wait for other changes and never delay them.
    var isReceipt: Bool {
        switch self {
        case .markRead, .confirmDelivery, .markAnnouncementRead: true
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .deleteMessage,
            .deleteConversation, .follow,
            .unfollow, .block, .unblock, .deleteAnnouncement:
            false
        }
    }

    var parts: [PartRecord] {
        switch self {
        case .sendMessage(let message): message.parts
        case .changeParts(_, let change): change.parts
        case .createConversation, .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation, .markRead,
            .confirmDelivery, .follow,
            .unfollow, .block, .unblock, .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    /// Returns the change with other parts. A change without parts is returned unchanged.
    func withParts(_ parts: [PartRecord]) -> LocalChange {
        switch self {
        case .sendMessage(var message):
            message.parts = parts
            return .sendMessage(message)
        case .changeParts(let id, let change): return .changeParts(id, change.withParts(parts))
        case .createConversation, .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation, .markRead,
            .confirmDelivery, .follow,
            .unfollow, .block, .unblock, .markAnnouncementRead, .deleteAnnouncement:
            return self
        }
    }

    var awaitsUpload: Bool { parts.contains { $0.body == nil && $0.content == nil } }
}

extension QueuedOperation {
    /// True if the operation affects the visible state. Refused operations do not, except messages.
    var isOverlay: Bool {
        switch state {
        case .failed: if case .sendMessage = change { true } else { false }
        case .draft, .waiting, .attempted, .answered: true
        }
    }

    /// Returns the upload of a part, or a new one if it has not started yet.
    func upload(of part: UUID) -> Upload { uploads?[part] ?? Upload(name: part) }

    /// True if the operation still has to be sent or answered.
    var isUnanswered: Bool { state == .waiting || state == .attempted }
    var isAnswered: Bool { if case .answered = state { true } else { false } }
    var failure: StoredError? { if case .failed(let error) = state { error } else { nil } }
}
