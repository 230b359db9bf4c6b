// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// Applies the server's packets by the rules of "Applying packets" in docs/protocol.md. Applying a packet twice has no
/// further effect.
extension StoreTransaction {
    /// Applies one packet. Unknown and malformed packets, and packets about other objects, are ignored.
    func applyPacket(_ packet: JSONValue) throws {
        let body = packet["body"]
        switch packet["type"].string {
        case "change": try applyChange(body)
        case "operation" where body["method"].string == "Conversation.mark_all_read": try applyAllRead(body)
        default: break
        }
        if let position = WireObjects.position(body["user_position"]) {
            cursor.userPosition = max(cursor.userPosition, position)
        }
    }

    private func applyChange(_ body: JSONValue) throws {
        let object = body["object"]
        let id = object["id"].string ?? ""
        switch object["type"].string {
        case "Conversation": if let id = ConversationID(parsing: id) { try applyConversation(id, body: body) }
        case "Message": if let id = MessageID(parsing: id) { try applyMessage(id, body: body) }
        case "MessagePart": try applyPart(id, body: body)
        case "Identity": if let user = UserID(parsing: id) { try applyIdentity(user, body: body) }
        case "Announcement": if let id = AnnouncementID(parsing: id) { try applyAnnouncement(id, body: body) }
        default: break
        }
    }

    private func conversationOfMessage(_ body: JSONValue) -> ConversationID? {
        ConversationID(parsing: body["conversation"]["id"].string ?? body["data"]["conversation"]["id"].string ?? "")
    }

    // MARK: Conversations

    private func applyConversation(_ id: ConversationID, body: JSONValue) throws {
        switch body["operation"].string {
        case "create": if let shown = WireObjects.conversation(body["data"], now: now) { try storeConversation(shown) }
        case "update": try updateConversation(id, body: body)
        case "delete": try deleteConversation(id, body: body)
        default: break
        }
    }

    private func updateConversation(_ id: ConversationID, body: JSONValue) throws {
        guard var record = try conversation(id), let progress = try progress(of: id) else {
            findings.unknownConversations.insert(id)
            return
        }
        let position = WireObjects.position(body["position"])
        let isNew = position.map { $0 >= progress.applied } ?? true
        for operation in body["data"].array ?? [] {
            try updateConversation(&record, by: operation, position: position, isNew: isNew)
        }
        try setConversation(id, to: record)
        if let position { try updateProgress(of: id) { $0.applied = max($0.applied, position) } }
    }

    /// - Parameter isNew: true if the object may not contain the change yet.
    private func updateConversation(
        _ record: inout ConversationRecord, by operation: JSONValue, position: Int64?, isNew: Bool
    ) throws {
        let (value, isDeletion) = (operation["value"], operation["operation"].string == "delete")
        switch operation["property"].string ?? "" {
        case "participants": try updateParticipants(&record, by: operation, position: position, isNew: isNew)
        case "distinct": if isNew { record.isDistinct = value.bool ?? record.isDistinct }
        case "unread_message_count": record.unreadCount = WireObjects.count(value) ?? record.unreadCount
        case "total_message_count": record.totalCount = WireObjects.count(value) ?? record.totalCount
        case "last_message": if let message = WireObjects.message(value, now: now) { try putLast(message) }
        case let property where property == "metadata" || property.hasPrefix("metadata."):
            let path = String(property.dropFirst("metadata.".count))
            guard isNew, WireObjects.isStorable(path) else { return }
            record.metadata.applyMetadataStep(
                .init(path: path, values: isDeletion ? nil : WireObjects.texts(value, at: path)))
        default: break
        }
    }

    private func updateParticipants(
        _ record: inout ConversationRecord, by operation: JSONValue, position: Int64?, isNew: Bool
    ) throws {
        guard let user = UserID(parsing: operation["id"].string ?? "") else { return }
        let isAdded = operation["operation"].string == "add"
        if isAdded {
            if let identity = WireObjects.basicIdentity(operation["value"]) {
                try storeBasicIdentity(identity, isFollowed: true)
            }
            if user == me { try refetchHistory(of: record.id) }
            if let position { try markReadByNewcomer(user, in: record.id, before: position * Position.wireStep) }
        }
        guard isNew else { return }
        record.participants.removeAll { $0 == user }
        if isAdded {
            record.participants = (record.participants + [user]).sorted()
        } else if user == me {
            record.participants = []
        }
    }

    /// Marks all earlier messages as read by a user who was added.
    private func markReadByNewcomer(_ user: UserID, in id: ConversationID, before position: Int64) throws {
        for message in try messageIDs(in: id, through: position - 1) {
            try advanceStatus(on: message, in: id, of: user, to: .read)
        }
    }

    /// Applies a deletion: of the messages up to `from_position` if the packet has it, otherwise of the conversation.
    private func deleteConversation(_ id: ConversationID, body: JSONValue) throws {
        let from = body["data"]["from_position"]
        if !from.isNull {
            guard let position = WireObjects.messagePosition(from) else { return }
            for message in try messageIDs(in: id, through: position) { try setMessage(message, in: id, to: nil) }
            try touch(id)
        } else {
            try forgetConversation(id)
            // After a deletion from the user's devices only, an own message would restore the conversation, so its
            // operations are kept.
            if body["data"]["mode"].string == DeletionMode.allParticipants.rawValue {
                try dropOperations(onDeleted: id)
            }
        }
    }

    /// Removes a conversation, its messages, and its failed operations. Pending operations stay.
    func forgetConversation(_ id: ConversationID) throws {
        for message in try messageIDs(in: id) { try setMessage(message, in: id, to: nil) }
        try setConversation(id, to: nil)
        try setProgress(of: id, nil)
        // Failed messages are no longer visible, and the library does not send them again.
        for operation in queue.operations(in: id) where operation.failure != nil { try removeOperation(operation) }
    }

    private func applyAllRead(_ body: JSONValue) throws {
        guard let id = ConversationID(parsing: body["object"]["id"].string ?? body["object_id"].string ?? ""),
            let user = UserID(parsing: body["data"]["identity"]["id"].string ?? ""),
            let position = WireObjects.messagePosition(body["data"]["position"])
        else { return }
        for message in try messageIDs(in: id, through: position) {
            guard try self.message(message, in: id)?.sender != user else { continue }
            try advanceStatus(on: message, in: id, of: user, to: .read)
        }
        try applied(body["position"], in: id)
    }

    // MARK: Identities and announcements

    /// Returns true if later entries of the user's own log have been applied.
    private func isOutdated(_ body: JSONValue) -> Bool {
        WireObjects.position(body["user_position"]).map { $0 < cursor.userPosition } ?? false
    }

    private func applyIdentity(_ user: UserID, body: JSONValue) throws {
        guard !isOutdated(body) else { return }
        switch body["operation"].string {
        case "create":
            if let identity = WireObjects.identity(body["data"]) { try storeFullIdentity(identity, isFollowed: true) }
        case "update":
            let block = (body["data"].array ?? []).last { $0["property"].string == "blocked" }
            if let isBlocked = block?["value"].bool { try setBlockedByServer(isBlocked, user) }
            guard var record = try identity(user) else { return }
            let lastSeen = record.lastSeenAt
            for operation in body["data"].array ?? [] {
                record.setProperty(operation["property"].string ?? "", to: operation["value"])
            }
            // While a user is online, the server updates this time periodically.
            if record.isOnline { record.lastSeenAt = lastSeen }
            try setIdentity(user, to: record)
        case "delete": try unfollowed(user)
        default: break
        }
    }

    private func applyAnnouncement(_ id: AnnouncementID, body: JSONValue) throws {
        guard !isOutdated(body) else { return }
        switch body["operation"].string {
        case "create": if let shown = WireObjects.announcement(body["data"], now: now) { try storeAnnouncement(shown) }
        case "update":
            guard var record = try announcement(id) else { return }
            let isRead = (body["data"].array ?? [])
                .contains { operation in
                    operation["property"].string?.hasPrefix("recipient_status.") == true
                        && operation["value"].string == "read"
                }
            if isRead { record.isUnread = false }
            try setAnnouncement(id, to: record)
        case "delete": try setAnnouncement(id, to: nil)
        default: break
        }
    }

    // MARK: Messages

    private func applyMessage(_ id: MessageID, body: JSONValue) throws {
        let conversation = conversationOfMessage(body)
        switch body["operation"].string {
        case "create": if let shown = WireObjects.message(body["data"], now: now) { try merge(shown) }
        case "update": try updateMessage(id, in: conversation, body: body)
        case "delete":
            if let touched = try touch(id, in: conversation) { try setMessage(id, in: touched.conversation, to: nil) }
        default: break
        }
        if let conversation { try applied(body["position"], in: conversation) }
    }

    /// Records the position of the last applied packet of a conversation.
    private func applied(_ position: JSONValue, in conversation: ConversationID) throws {
        guard let position = WireObjects.position(position) else { return }
        try updateProgress(of: conversation) { $0.applied = max($0.applied, position) }
    }

    private func updateMessage(_ id: MessageID, in conversation: ConversationID?, body: JSONValue) throws {
        guard var record = try message(id, in: conversation) else { return }
        let operations = body["data"].array ?? []
        let updatedAt = operations.last { $0["property"].string == "updated_at" }
            .flatMap { WireObjects.time($0["value"]) }
        let arePartsNew = updatedAt.map { $0 >= record.updatedAt ?? .min } ?? true
        for operation in operations {
            let property = operation["property"].string ?? ""
            if property.hasPrefix("recipient_status.") {
                let user = property.dropFirst("recipient_status.".count).replacing("\\.", with: ".")
                guard let user = UserID(parsing: user), let status = WireObjects.status(operation["value"]) else {
                    continue
                }
                advanceStatus(in: &record, of: user, to: status)
            } else if property == "parts", arePartsNew {
                updateParts(&record.parts, by: operation)
            }
        }
        if arePartsNew, let updatedAt { record.updatedAt = updatedAt }
        if let old = try message(id, in: conversation) { keepLocal(of: old, in: &record) }
        keepSentContent(in: &record)
        try setMessage(id, in: record.conversation, to: record)
    }

    private func updateParts(_ parts: inout [PartRecord], by operation: JSONValue) {
        switch operation["operation"].string {
        case "add":
            guard let part = WireObjects.part(operation["value"]) else { return }
            if let place = parts.firstIndex(where: { $0.id == part.id }) {
                parts[place] = part
            } else {
                parts.append(part)
            }
        case "remove", "delete":
            let id = operation["id"].string ?? operation["value"]["id"].string ?? ""
            parts.removeAll { $0.id == WireObjects.partID(id) }
        case "set": parts = (operation["value"].array ?? []).compactMap(WireObjects.part)
        default: break
        }
    }

    private func applyPart(_ id: String, body: JSONValue) throws {
        let pieces = id.split(separator: "/")
        guard body["operation"].string == "update", pieces.count >= 4, let partID = WireObjects.partID(id),
            let messageID = MessageID(parsing: String(pieces[pieces.count - 3])),
            var record = try message(messageID, in: conversationOfMessage(body)),
            let place = record.parts.firstIndex(where: { $0.id == partID })
        else { return }
        let members = (body["data"].array ?? [])
            .reduce(into: [String: JSONValue]()) { $0[$1["property"].string ?? ""] = $1["value"] }
        let updatedAt = members["updated_at"].flatMap(WireObjects.time)
        guard updatedAt ?? .max >= record.parts[place].updatedAt ?? .min else { return }
        var part = PartRecord(
            id: partID, mimeType: members["mime_type"]?.string ?? record.parts[place].mimeType,
            size: members["size"].flatMap(WireObjects.size) ?? 0)
        part.updatedAt = updatedAt
        WireObjects.setContent(
            of: &part, body: members["body"] ?? .null, encoding: members["encoding"] ?? .null,
            content: members["content"] ?? .null)
        part.keepContent(of: record.parts[place])
        record.parts[place] = part
        keepSentContent(in: &record)
        try setMessage(messageID, in: record.conversation, to: record)
        try applied(body["position"], in: record.conversation)
    }

    // MARK: Statuses

    private func advanceStatus(
        on id: MessageID, in conversation: ConversationID, of user: UserID, to status: RecipientStatus
    ) throws {
        guard var record = try message(id, in: conversation) else { return }
        advanceStatus(in: &record, of: user, to: status)
        try setMessage(id, in: conversation, to: record)
    }

    /// Advances a status, which never moves backwards. The user's own status decides whether the message is unread.
    private func advanceStatus(in record: inout MessageRecord, of user: UserID, to status: RecipientStatus) {
        record.statuses[user] = max(record.statuses[user] ?? .pending, status)
        if user == me, status == .read { record.isUnread = false }
    }
}

extension IdentityRecord {
    /// Sets one member from an update packet. Members that are not stored are ignored.
    mutating func setProperty(_ property: String, to value: JSONValue) {
        switch property {
        case "display_name": displayName = value.string
        case "avatar_url": avatarURL = value.string
        case "first_name": firstName = value.string
        case "last_name": lastName = value.string
        case "phone_number": phoneNumber = value.string
        case "email_address": emailAddress = value.string
        case "public_key": publicKey = value.string
        case "metadata": metadata = value.object?.compactMapValues(\.string) ?? [:]
        case "presence.status": presenceStatus = value.string
        case "presence.last_seen_at": lastSeenAt = WireObjects.time(value)
        default: break
        }
    }
}
