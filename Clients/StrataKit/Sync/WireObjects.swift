// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// Parses the server's objects. If a required member is missing or has an unexpected type, the result is nil. A newer
/// server may send more members, and a faulty one may send anything.
enum WireObjects {
    /// A conversation from a list, an answer or a `create`.
    struct ReceivedConversation {
        var record: ConversationRecord
        /// The position of the last change that the object contains.
        var position: Int64
        var epoch: String?
        var lastMessage: ReceivedMessage?
        var identities: [IdentityRecord]
    }

    /// A message, with the data of its sender contained in the object.
    struct ReceivedMessage {
        var record: MessageRecord
        var sender: IdentityRecord?
    }

    static func conversation(_ json: JSONValue, now: Int64) -> ReceivedConversation? {
        guard let id = ConversationID(parsing: json["id"].string ?? ""), let position = position(json["position"])
        else { return nil }
        let identities = (json["participants"].array ?? []).compactMap(basicIdentity)
        let record = ConversationRecord(
            id: id, createdAt: time(json["created_at"]) ?? now, participants: Set(identities.map(\.userID)).sorted(),
            isDistinct: json["distinct"].bool ?? false, deliveryReceipts: json["delivery_receipts"].bool ?? true,
            readReceipts: json["read_receipts"].bool ?? true, metadata: texts(json["metadata"]),
            unreadCount: count(json["unread_message_count"]) ?? 0,
            totalCount: count(json["total_message_count"]) ?? 0)
        return ReceivedConversation(
            record: record, position: position, epoch: json["epoch"].string,
            lastMessage: message(json["last_message"], now: now),
            identities: identities)
    }

    static func message(_ json: JSONValue, now: Int64) -> ReceivedMessage? {
        guard let id = MessageID(parsing: json["id"].string ?? ""), let position = messagePosition(json["position"]),
            let conversation = ConversationID(parsing: json["conversation"]["id"].string ?? "")
        else { return nil }
        let sender = basicIdentity(json["sender"])
        let record = MessageRecord(
            id: id, conversation: conversation, position: position, ordering: position, sender: sender?.userID,
            senderName: sender == nil ? json["sender"]["display_name"].string : nil,
            sentAt: time(json["sent_at"]) ?? now, receivedAt: now,
            updatedAt: time(json["updated_at"]), isUnread: json["is_unread"].bool ?? false, isSent: true, failure: nil,
            statuses: statuses(json["recipient_status"]), parts: (json["parts"].array ?? []).compactMap(part))
        return ReceivedMessage(record: record, sender: sender)
    }

    static func announcement(_ json: JSONValue, now: Int64) -> AnnouncementRecord? {
        guard let id = AnnouncementID(parsing: json["id"].string ?? ""),
            let position = messagePosition(json["position"])
        else {
            return nil
        }
        let sender = basicIdentity(json["sender"])
        return AnnouncementRecord(
            id: id, position: position, sender: sender?.userID,
            senderName: sender == nil ? json["sender"]["display_name"].string : nil,
            sentAt: time(json["sent_at"]) ?? now, receivedAt: now, isUnread: json["is_unread"].bool ?? false,
            parts: (json["parts"].array ?? []).compactMap(part))
    }

    static func part(_ json: JSONValue) -> PartRecord? {
        guard let id = partID(json["id"].string ?? ""), let type = json["mime_type"].string else { return nil }
        var part = PartRecord(id: id, mimeType: type, size: size(json["size"]) ?? 0)
        part.updatedAt = time(json["updated_at"])
        setContent(of: &part, body: json["body"], encoding: json["encoding"], content: json["content"])
        return part
    }

    static func setContent(of part: inout PartRecord, body: JSONValue, encoding: JSONValue, content: JSONValue) {
        part.content = content["id"].string.flatMap { ContentID(parsing: $0) }
        part.downloadURL = content["download_url"].string
        part.downloadExpires = time(content["expiration"])
        if let text = body.string {
            part.body =
                encoding.string == "base64"
                ? Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data() : Data(text.utf8)
        } else {
            part.body = part.content == nil ? Data() : nil
        }
        part.transferStatus = part.content == nil ? .complete : .readyForDownload
    }

    static func partID(_ id: String) -> UUID? { id.split(separator: "/").last.flatMap { UUID(text: $0.utf8) } }

    /// Returns the name and picture of a user; nil if the sender is not a user.
    static func basicIdentity(_ json: JSONValue) -> IdentityRecord? {
        guard let user = UserID(parsing: json["id"].string ?? "") else { return nil }
        var identity = IdentityRecord(userID: user)
        identity.displayName = json["display_name"].string
        identity.avatarURL = json["avatar_url"].string
        return identity
    }

    static func identity(_ json: JSONValue) -> IdentityRecord? {
        guard var identity = basicIdentity(json) else { return nil }
        identity.firstName = json["first_name"].string
        identity.lastName = json["last_name"].string
        identity.emailAddress = json["email_address"].string
        identity.phoneNumber = json["phone_number"].string
        identity.publicKey = json["public_key"].string
        identity.metadata = json["metadata"].object?.compactMapValues(\.string) ?? [:]
        identity.presenceStatus = json["presence"]["status"].string
        identity.lastSeenAt = time(json["presence"]["last_seen_at"])
        identity.isFull = true
        return identity
    }

    static func statuses(_ json: JSONValue) -> [UserID: RecipientStatus] {
        (json.object ?? [:])
            .reduce(into: [:]) { statuses, member in
                guard let user = UserID(parsing: member.key), let status = status(member.value) else { return }
                statuses[user] = status
            }
    }

    static func status(_ json: JSONValue) -> RecipientStatus? {
        switch json.string {
        case "sent": .sent
        case "delivered": .delivered
        case "read": .read
        default: nil
        }
    }

    /// Returns a position in a log. nil if the number is negative or above every log, so that arithmetic on the result
    /// cannot overflow.
    static func position(_ json: JSONValue) -> Int64? { json.integer.flatMap { position($0) } }

    /// Returns a position in a log; see ``position(_:)-(JSONValue)``.
    static func position(_ number: Int64) -> Int64? {
        0..<MessageRecord.unsent / Position.wireStep ~= number ? number : nil
    }

    /// Returns the position of a message, which is `Position.wireStep` times the position of its change. nil as for
    /// ``position(_:)-(JSONValue)``.
    static func messagePosition(_ json: JSONValue) -> Int64? {
        json.integer.flatMap { 0..<MessageRecord.unsent ~= $0 ? $0 : nil }
    }

    static func count(_ json: JSONValue) -> Int? { json.integer.flatMap { count($0) } }

    static func count(_ number: Int64) -> Int? { 0...Int64(Int32.max) ~= number ? Int(exactly: number) : nil }

    /// Returns the size of a part in bytes; nil if the number is negative, or too large to be exact in JSON.
    static func size(_ json: JSONValue) -> Int? { json.integer.flatMap { 0...1 << 53 ~= $0 ? Int(exactly: $0) : nil } }

    /// Returns a time in microseconds since 1970.
    static func time(_ json: JSONValue) -> Int64? { json.string.flatMap { ISO8601.parse($0)?.microseconds } }

    /// Returns the texts of a tree by their full key paths. Keys are not validated, because the server may contain keys
    /// that this library would not set.
    /// - Parameter path: the path of the tree. Texts at a path that is not ``isStorable(_:)`` are omitted.
    static func texts(_ json: JSONValue, at path: String = "") -> [String: String] {
        var found: [String: String] = [:]
        collect(json, at: path, into: &found)
        return found
    }

    /// Returns true if a key path is within the server's limits. Trees are traversed recursively, so a deeper path
    /// could overflow the stack.
    static func isStorable(_ path: String) -> Bool {
        path.utf8.count <= Limits.metadataPathBytes
            && path.utf8.count { $0 == UInt8(ascii: ".") } < Limits.metadataDepth
    }

    private static func collect(_ json: JSONValue, at path: String, into found: inout [String: String]) {
        guard isStorable(path) else { return }
        if let text = json.string {
            found[path] = text
        } else {
            for (key, value) in json.object ?? [:] {
                collect(value, at: path.isEmpty ? key : "\(path).\(key)", into: &found)
            }
        }
    }
}
