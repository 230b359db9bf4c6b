// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// A change that the user has made and that the server has not confirmed. It is kept in the store until then.
struct QueuedOperation: Codable, Hashable, Sendable, Identifiable {
    /// Names the change to the server, so that repeating the request after a lost answer changes nothing.
    let id: UUID
    /// The order in which the app made its changes.
    let sequence: Int64
    /// When the app made the change.
    let madeAt: Int64
    /// The conversation it belongs to, if any. A distinct conversation may turn out to have another id.
    var conversation: ConversationID?
    var change: LocalChange
    var state = State.waiting
    /// Failed attempts while there was a connection.
    var tries = 0
    /// The epoch of the database at the last attempt, if it was known.
    var epoch: String?
    /// The listing that was newest at the last attempt.
    var generation: Int64?
    /// Uploads of its parts, by their ids.
    var uploads: [UUID: Upload]?

    struct Upload: Codable, Hashable, Sendable {
        /// Identifies repeated uploads to the server.
        var name: UUID
        /// When the content was on the server; nil: it is not, or is not needed there any more.
        var finishedAt: Int64?
        /// How often it was uploaded.
        var times = 0
    }

    enum State: Codable, Hashable, Sendable {
        /// The creation of a conversation without a message: not shown, not sent, and not kept over a restart.
        case draft
        /// Not sent yet, so that it may still be folded with others.
        case waiting
        /// Sent at least once. The server may have carried it out, so it must be sent again as it was.
        case attempted
        /// The server has carried it out. It still applies to what is shown until packets up to these positions have been applied.
        case answered(Positions)
        /// Refused. Only messages stay in the queue after that, to be shown as failed.
        case failed(StoredError)
    }

    /// Where the packets about a change are.
    struct Positions: Codable, Hashable, Sendable {
        /// In the log of the conversation.
        var conversation: Int64?
        /// In the user's own log.
        var user: Int64?
    }
}

/// What the user has changed. Indirect: queues are copied and sorted often, and a copy then costs one reference.
indirect enum LocalChange: Codable, Hashable, Sendable {
    case createConversation(NewConversation)
    case sendMessage(NewMessage)
    case patchMetadata([MetadataStep])
    case changeParticipants([ParticipantStep])
    case changeParts(MessageID, PartChange)
    case deleteMessage(MessageID, DeletionMode)
    /// `upTo` is the position of the conversation that this device had applied; only used with ``DeletionMode/myDevices``.
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
        /// The creator among them, in byte order.
        var participants: [UserID]
        var isDistinct: Bool
        var deliveryReceipts: Bool
        var readReceipts: Bool
        /// Each text by its key path.
        var metadata: [String: String]
    }

    struct NewMessage: Codable, Hashable, Sendable {
        var id: MessageID
        var parts: [PartRecord]
        /// The notification for recipients, as JSON; nil for none.
        var notification: String?
    }

    struct MetadataStep: Codable, Hashable, Sendable {
        /// Empty for the root, which only ``delete`` of everything has.
        var path: String
        /// Texts by key path from the root, all at or below ``path``; nil deletes what is at the path.
        var values: [String: String]?

        var operation: MetadataOperation {
            guard let values, !values.isEmpty else { return .delete(MetadataPath(trusted: path)) }
            return .set(
                MetadataPath(trusted: path),
                leaves: values.sorted { $0.key < $1.key }.map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) })
        }
    }

    struct ParticipantStep: Codable, Hashable, Sendable {
        var user: UserID
        var isAdded: Bool
    }
}

enum PartChange: Codable, Hashable, Sendable {
    case add(PartRecord)
    /// The part with this id gets other content.
    case replace(UUID, PartRecord)
    case remove(UUID)
    case setAll([PartRecord])

    /// The part that must be there.
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

    /// The same change with parts in another state.
    func withParts(_ parts: [PartRecord]) -> PartChange {
        switch (self, parts.first) {
        case (.add, let part?): .add(part)
        case (.replace(let id, _), let part?): .replace(id, part)
        case (.setAll, _): .setAll(parts)
        case (.add, nil), (.replace, nil), (.remove, _): self
        }
    }

    /// The same change with the id that a replaced part has after it.
    var keepingID: PartChange {
        guard case .replace(let id, var part) = self else { return self }
        part.id = id
        return .replace(id, part)
    }
}

extension LocalChange {
    /// The messages that it sends, changes, deletes or marks as read.
    var messages: [MessageID] {
        switch self {
        case .sendMessage(let message): [message.id]
        case .changeParts(let id, _), .deleteMessage(let id, _): [id]
        case .markRead(let ids): ids
        case .createConversation, .patchMetadata, .changeParticipants, .deleteConversation, .confirmDelivery, .follow, .unfollow, .block, .unblock,
            .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    /// The users it follows, stops following, blocks or unblocks.
    var users: [UserID] {
        switch self {
        case .follow(let users), .unfollow(let users): users
        case .block(let user), .unblock(let user): [user]
        case .createConversation, .sendMessage, .changeParts, .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation,
            .markRead, .confirmDelivery, .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    /// The name of the kind, for logs and reports of failures.
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

    /// Receipts never wait behind other changes, and never delay them.
    var isReceipt: Bool {
        switch self {
        case .markRead, .confirmDelivery, .markAnnouncementRead: true
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .follow,
            .unfollow, .block, .unblock, .deleteAnnouncement:
            false
        }
    }

    var parts: [PartRecord] {
        switch self {
        case .sendMessage(let message): message.parts
        case .changeParts(_, let change): change.parts
        case .createConversation, .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation, .markRead, .confirmDelivery, .follow,
            .unfollow, .block, .unblock, .markAnnouncementRead, .deleteAnnouncement:
            []
        }
    }

    /// The same change with parts in another state.
    func withParts(_ parts: [PartRecord]) -> LocalChange {
        switch self {
        case .sendMessage(var message):
            message.parts = parts
            return .sendMessage(message)
        case .changeParts(let id, let change): return .changeParts(id, change.withParts(parts))
        case .createConversation, .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation, .markRead, .confirmDelivery, .follow,
            .unfollow, .block, .unblock, .markAnnouncementRead, .deleteAnnouncement:
            return self
        }
    }

    var awaitsUpload: Bool { parts.contains { $0.body == nil && $0.content == nil } }
}

extension QueuedOperation {
    /// Whether it changes what the app is shown: from the moment it is made until it is over.
    var isOverlay: Bool {
        switch state {
        case .failed: if case .sendMessage = change { true } else { false }
        case .draft, .waiting, .attempted, .answered: true
        }
    }

    /// The upload of a part, if it was begun before or not.
    func upload(of part: UUID) -> Upload { uploads?[part] ?? Upload(name: part) }

    /// Whether it is still to be sent.
    var isUnanswered: Bool { state == .waiting || state == .attempted }
    var isAnswered: Bool { if case .answered = state { true } else { false } }
    var failure: StoredError? { if case .failed(let error) = state { error } else { nil } }
}
