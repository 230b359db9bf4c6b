// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

@testable import StrataKit

/// Renders objects and packets like the gateway.
enum WireJSON {
    static let ana = UserID(trusted: "ana")
    static let ben = UserID(trusted: "ben")
    static let cleo = UserID(trusted: "cleo")

    // MARK: Objects

    static func identity(_ user: UserID, name: String? = nil) -> JSONValue {
        [
            "id": .string(user.layerID), "url": .string("https://chat.example.org/identities/\(user)"),
            "user_id": .string(user.rawValue),
            "display_name": name.map { .string($0) } ?? .null, "avatar_url": nil,
        ]
    }

    static func conversation(
        _ id: ConversationID, at position: Int64 = 1, participants: [UserID] = [ana, ben], metadata: JSONValue = [:],
        isDistinct: Bool = false,
        unread: Int = 0, total: Int = 0, last: JSONValue = .null, deliveryReceipts: Bool = true, epoch: String = "first"
    ) -> JSONValue {
        [
            "id": .string(id.layerID), "url": .string("https://chat.example.org/conversations/\(id)"),
            "created_at": "2018-05-04T09:30:00.000Z",
            "participants": .array(participants.map { identity($0) }), "distinct": .bool(isDistinct),
            "metadata": metadata,
            "unread_message_count": .integer(Int64(unread)), "total_message_count": .integer(Int64(total)),
            "last_message": last,
            "position": .integer(position), "epoch": .string(epoch), "delivery_receipts": .bool(deliveryReceipts),
            "read_receipts": true,
        ]
    }

    /// - Parameter position: the position of the change that created the message.
    static func message(
        _ id: MessageID, in conversation: ConversationID, at position: Int64, from sender: UserID = ben,
        isUnread: Bool? = nil,
        statuses: [UserID: String]? = nil, parts: [JSONValue]? = nil, updatedAt: String? = nil
    ) -> JSONValue {
        let isUnread = isUnread ?? (sender != ana)
        let known = statuses ?? [ana: isUnread ? "delivered" : "read", ben: sender == ben ? "read" : "sent"]
        return [
            "id": .string(id.layerID), "url": .string("https://chat.example.org/messages/\(id)"),
            "conversation": ["id": .string(conversation.layerID)], "position": .integer(position * Position.wireStep),
            "parts": .array(parts ?? [part(partID(of: id), of: id)]), "sender": identity(sender),
            "sent_at": "2018-05-04T09:31:00.000Z",
            "received_at": nil, "updated_at": updatedAt.map { .string($0) } ?? .null, "is_unread": .bool(isUnread),
            "recipient_status": .object(
                Dictionary(uniqueKeysWithValues: known.map { ($0.key.layerID, .string($0.value)) })),
        ]
    }

    static func part(_ id: UUID, of message: MessageID, _ text: String = "hello", updatedAt: String? = nil) -> JSONValue
    {
        [
            "id": .string(partLayerID(id, of: message)), "mime_type": "text/plain", "body": .string(text),
            "encoding": nil, "content": nil,
            "size": .integer(Int64(text.utf8.count)), "updated_at": updatedAt.map { .string($0) } ?? .null,
        ]
    }

    static func partLayerID(_ id: UUID, of message: MessageID) -> String {
        "\(message.layerID)/parts/\(id.lowercaseText)"
    }

    /// Returns the id of the single part that a message has by default.
    static func partID(of message: MessageID) -> UUID {
        var bytes = message.rawValue.uuid
        bytes.0 = 0xaa
        return UUID(uuid: bytes)
    }

    static func announcement(_ id: AnnouncementID, at position: Int64 = 1, isUnread: Bool = true) -> JSONValue {
        [
            "id": .string(id.layerID), "position": .integer(position),
            "sender": ["id": nil, "display_name": "Operator"],
            "sent_at": "2018-05-04T09:31:00.000Z", "is_unread": .bool(isUnread),
            "recipient_status": [ana.layerID: isUnread ? "sent" : "read"],
            "parts": [
                ["id": .string("\(id.layerID)/parts/\(id)"), "mime_type": "text/plain", "body": "News", "size": 4]
            ],
        ]
    }

    // MARK: Packets

    static func change(
        _ operation: String, _ type: String, _ id: String, at position: Int64? = nil, user: Int64? = nil,
        in conversation: ConversationID? = nil,
        _ data: JSONValue
    ) -> JSONValue {
        var body: JSONValue = [
            "operation": .string(operation), "object": ["type": .string(type), "id": .string(id)], "data": data,
        ]
        if let position { body["position"] = .integer(position) }
        if let user { body["user_position"] = .integer(user) }
        if let conversation { body["conversation"] = ["id": .string(conversation.layerID)] }
        return ["type": "change", "counter": 7, "timestamp": "2018-05-04T09:31:10.480Z", "body": body]
    }

    /// Returns the creation of a conversation or message, at the object's position.
    static func created(_ object: JSONValue, at position: Int64? = nil) -> JSONValue {
        let isMessage = object["conversation"]["id"].string != nil
        let own = object["position"].int.map { Int64($0) / (isMessage ? Position.wireStep : 1) }
        return change(
            "create", isMessage ? "Message" : "Conversation", object["id"].string ?? "", at: position ?? own, object)
    }

    static func updated(
        _ id: ConversationID, at position: Int64? = nil, user: Int64? = nil, _ operations: JSONValue...
    ) -> JSONValue {
        change("update", "Conversation", id.layerID, at: position, user: user, .array(operations))
    }

    static func updated(
        _ id: MessageID, in conversation: ConversationID, at position: Int64, _ operations: JSONValue...
    ) -> JSONValue {
        change("update", "Message", id.layerID, at: position, in: conversation, .array(operations))
    }

    static func counts(
        of id: ConversationID, at position: Int64? = nil, user: Int64? = nil, unread: Int, total: Int
    ) -> JSONValue {
        updated(
            id, at: position, user: user, set("unread_message_count", .integer(Int64(unread))),
            set("total_message_count", .integer(Int64(total))))
    }

    static func deleted(
        _ id: ConversationID, _ mode: DeletionMode = .allParticipants, upTo position: Int64? = nil, user: Int64? = nil
    ) -> JSONValue {
        let from = position.map { JSONValue.integer($0 * Position.wireStep) } ?? .null
        return change(
            "delete", "Conversation", id.layerID, user: user, ["mode": .string(mode.rawValue), "from_position": from])
    }

    static func deleted(_ id: MessageID, in conversation: ConversationID, at position: Int64) -> JSONValue {
        change("delete", "Message", id.layerID, at: position, in: conversation, ["mode": "all_participants"])
    }

    static func allRead(_ id: ConversationID, by user: UserID, upTo last: Int64, at position: Int64) -> JSONValue {
        [
            "type": "operation", "counter": 8, "timestamp": "2018-05-04T09:31:10.480Z",
            "body": [
                "method": "Conversation.mark_all_read", "object": ["type": "Conversation", "id": .string(id.layerID)],
                "position": .integer(position),
                "data": ["identity": identity(user), "position": .integer(last * Position.wireStep)],
            ],
        ]
    }

    // MARK: Operations in packets

    static func set(_ property: String, _ value: JSONValue) -> JSONValue {
        ["operation": "set", "property": .string(property), "value": value]
    }
    static func delete(_ property: String) -> JSONValue { ["operation": "delete", "property": .string(property)] }
    static func add(_ user: UserID) -> JSONValue {
        ["operation": "add", "property": "participants", "id": .string(user.layerID), "value": identity(user)]
    }
    static func remove(_ user: UserID) -> JSONValue {
        ["operation": "remove", "property": "participants", "id": .string(user.layerID)]
    }
    static func status(_ status: String, of user: UserID) -> JSONValue {
        set("recipient_status.\(user.layerID.replacing(".", with: "\\."))", .string(status))
    }
}
