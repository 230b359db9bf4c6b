// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

/// Renders packets like the gateway.
extension ModelServer {
    private func change(
        _ operation: String, _ type: String, _ id: String, _ place: [String: JSONValue], _ data: JSONValue
    ) -> JSONValue {
        var body: JSONValue = [
            "operation": .string(operation),
            "object": ["type": .string(type), "id": .string(id), "url": "https://sim"], "data": data,
        ]
        for (key, value) in place { body[key] = value }
        return ["type": "change", "body": body]
    }

    private static func set(_ property: String, _ value: JSONValue) -> JSONValue {
        ["operation": "set", "property": .string(property), "value": value]
    }

    func created(_ conversation: ModelConversation, for user: UserID, _ place: [String: JSONValue]) -> JSONValue {
        change("create", "Conversation", conversation.id.layerID, place, object(conversation, for: user))
    }

    func counts(
        of conversation: ModelConversation, for user: UserID, total: Bool = true, last: Bool = false
    ) -> [JSONValue] {
        var operations: [JSONValue] = []
        let messages = conversation.visible(to: user)
        if last {
            if let message = messages.last {
                var operation = Self.set("last_message", object(message, in: conversation, for: user))
                operation["id"] = .string(message.id.layerID)
                operations.append(operation)
            } else {
                operations.append(Self.set("last_message", nil))
            }
        }
        operations.append(Self.set("unread_message_count", .integer(Int64(conversation.unread(by: user)))))
        if total { operations.append(Self.set("total_message_count", .integer(Int64(messages.count)))) }
        return operations
    }

    func update(_ conversation: ModelConversation, _ place: [String: JSONValue], _ operations: [JSONValue]) -> JSONValue
    {
        change("update", "Conversation", conversation.id.layerID, place, .array(operations))
    }

    func deleted(
        _ conversation: ConversationID, _ place: [String: JSONValue], mode: String, upTo: Int64? = nil
    ) -> JSONValue {
        change(
            "delete", "Conversation", conversation.layerID, place,
            ["mode": .string(mode), "from_position": upTo.map { .integer($0 * 8192) } ?? nil])
    }

    /// Returns the packets about an entry of a conversation's log, for a participant.
    /// - Parameter live: true to include current counts.
    func packets(_ entry: ModelEntry, _ conversation: ModelConversation, for user: UserID, live: Bool) -> [JSONValue] {
        let place: [String: JSONValue] = ["position": .integer(entry.position)]
        var messagePlace = place
        messagePlace["conversation"] = reference(conversation.id)
        switch entry.content {
        case .created: return [created(conversation, for: user, place)]
        case .participants(let added, let removed, let clearsDistinct):
            var operations = removed.map { Self.participant("remove", $0) } + added.map { Self.participant("add", $0) }
            if clearsDistinct { operations.append(Self.set("distinct", false)) }
            return [update(conversation, place, operations)]
        case .metadata(let operations): return [update(conversation, place, operations)]
        case .message(let id):
            guard let message = conversation.message(id), conversation.isVisible(message, to: user) else { return [] }
            let value = object(message, in: conversation, for: user)
            var last = Self.set("last_message", value)
            last["id"] = .string(id.layerID)
            let numbers = live ? counts(of: conversation, for: user) : []
            return [
                change("create", "Message", id.layerID, place, value), update(conversation, place, [last] + numbers),
            ]
        case .receipts(let receipts):
            let seen = receipts.filter { receipt in
                conversation.message(receipt.message).map { conversation.isVisible($0, to: user) } ?? false
            }
            let updates = seen.map { receipt in
                change(
                    "update", "Message", receipt.message.layerID, messagePlace,
                    [Self.status(receipt.status, of: receipt.user)])
            }
            let isOwn = live && receipts.contains { $0.user == user && $0.status == .read }
            return updates
                + (isOwn ? [update(conversation, place, counts(of: conversation, for: user, total: false))] : [])
        case .allRead(let reader, let upTo): return allRead(conversation, place, reader, upTo, for: user, live: live)
        case .partChanged(let id): return partChanged(id, conversation, messagePlace, for: user)
        case .messageDeleted(let id):
            return [change("delete", "Message", id.layerID, messagePlace, ["mode": "all_participants"])]
                + (live
                    ? [update(conversation, place, counts(of: conversation, for: user, last: true))]
                    : [update(conversation, place, [counts(of: conversation, for: user, last: true)[0]])])
        case .deleted: return [deleted(conversation.id, place, mode: "all_participants")]
        }
    }

    private static func participant(_ operation: String, _ user: UserID) -> JSONValue {
        var step: JSONValue = [
            "operation": .string(operation), "property": "participants", "id": .string(user.layerID),
        ]
        if operation == "add" { step["value"] = identity(user) }
        return step
    }

    static func status(_ status: RecipientStatus, of user: UserID) -> JSONValue {
        set("recipient_status.\(user.layerID.replacing(".", with: "\\."))", .string(word(status)))
    }

    private func allRead(
        _ conversation: ModelConversation, _ place: [String: JSONValue], _ reader: UserID, _ upTo: Int64,
        for user: UserID, live: Bool
    ) -> [JSONValue] {
        var body: JSONValue = [
            "method": "Conversation.mark_all_read",
            "object": ["type": "Conversation", "id": .string(conversation.id.layerID)],
            "data": ["position": .integer(upTo * 8192), "identity": ["id": .string(reader.layerID)]],
        ]
        for (key, value) in place { body[key] = value }
        let operation: JSONValue = ["type": "operation", "body": body]
        return [operation]
            + (live && user == reader
                ? [update(conversation, place, counts(of: conversation, for: user, total: false))] : [])
    }

    private func partChanged(
        _ id: MessageID, _ conversation: ModelConversation, _ place: [String: JSONValue], for user: UserID
    ) -> [JSONValue] {
        guard let message = conversation.message(id), conversation.isVisible(message, to: user) else { return [] }
        let part = message.parts[0]
        let members = ["mime_type", "body", "encoding", "content", "size", "updated_at"].map { Self.set($0, part[$0]) }
        return [
            change("update", "MessagePart", part["id"].string ?? "", place, .array(members)),
            change("update", "Message", id.layerID, place, [Self.set("updated_at", part["updated_at"])]),
        ]
    }

    func packets(_ entry: ModelUserEntry, for user: UserID) -> [JSONValue] {
        let place: [String: JSONValue] = ["user_position": .integer(entry.position)]
        guard let conversation = database.conversations[entry.content.conversation] else { return [] }
        var messagePlace = place
        messagePlace["conversation"] = reference(conversation.id)
        let isSeen = conversation.isSeen(by: user)
        let contents = isSeen ? [update(conversation, place, counts(of: conversation, for: user, last: true))] : []
        switch entry.content {
        case .hidden(let id, let upTo):
            // The conversation has been restored since: newer messages stay.
            guard isSeen else { return [deleted(id, place, mode: "my_devices")] }
            return [deleted(id, place, mode: "my_devices", upTo: upTo), created(conversation, for: user, place)]
        case .shown: return isSeen ? [created(conversation, for: user, place)] : []
        case .messageHidden(let id, _):
            return [change("delete", "Message", id.layerID, messagePlace, ["mode": "my_devices"])] + contents
        case .messagesHidden(let id, let upTo): return [deleted(id, place, mode: "my_devices", upTo: upTo)] + contents
        case .messageDeleted(let id, _):
            return [change("delete", "Message", id.layerID, messagePlace, ["mode": "all_participants"])] + contents
        case .conversationDeleted(let id): return [deleted(id, place, mode: "all_participants")]
        }
    }

    /// Returns a malformed packet that a careful client ignores.
    func garbage(for user: UserID) -> JSONValue {
        let known = database.conversations.keys.sorted { $0.description < $1.description }
        let id =
            random.chance(50)
            ? random.anyOne(of: known) ?? ConversationID(rawValue: random.newUUID())
            : ConversationID(rawValue: random.newUUID())
        let message = MessageID(rawValue: random.newUUID())
        let place: [String: JSONValue] = random.chance(50) ? ["conversation": reference(id)] : [:]
        let all: [JSONValue] = [
            ["type": "novelty", "body": ["data": [1, 2]]], ["type": "change"], ["type": "change", "body": 7], [:],
            change("update", "Message", message.layerID, place, [Self.status(.read, of: user)]),
            change("update", "Message", message.layerID, place, nil),
            change("delete", "Message", message.layerID, place, nil),
            change("create", "Message", message.layerID, place, ["id": .string(message.layerID)]),
            change("create", "Conversation", id.layerID, [:], ["id": .string(id.layerID)]),
            change(
                "update", "Conversation", id.layerID, [:],
                [["operation": "set", "property": "colour", "value": "red"], 3, nil]),
            change(
                "update", "Conversation", id.layerID, [:],
                [Self.set("unread_message_count", "many"), Self.set("distinct", nil)]),
            change(
                "update", "Conversation", ConversationID(rawValue: random.newUUID()).layerID, ["position": 3],
                [Self.set("metadata.a", "b")]),
            change("explode", "Conversation", id.layerID, [:], ["from_position": nil]),
            change("update", "Planet", id.layerID, [:], []),
            change("update", "MessagePart", "\(message.layerID)/parts/1", place, []),
            change("update", "MessagePart", "x", place, [nil]),
            [
                "type": "operation",
                "body": ["method": "Conversation.mark_all_read", "object": ["id": .string(id.layerID)]],
            ],
            change(
                "update", "Message", message.layerID, ["position": .integer(.max), "conversation": reference(id)], []),
            change(
                "update", "Conversation", id.layerID, [:],
                [Self.set("unread_message_count", .integer(.min)), Self.set("total_message_count", -1)]),
            ["type": "signal", "body": ["type": "typing_indicator"]],
            ["type": "response", "body": ["request_id": "change-7", "success": true]],
        ]
        return random.anyOne(of: all) ?? nil
    }
}
