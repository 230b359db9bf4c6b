// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// The request for a pending change. An operation always produces the same bytes, because the server compares repeated
/// requests.
enum OutgoingRequest: Hashable, Sendable {
    case socket(method: String, objectID: String?, data: JSONValue)
    /// A REST request. `isIdempotent`: the operation's id is sent as an idempotency key.
    case rest(method: String, path: String, body: JSONValue?, isIdempotent: Bool)

    init?(_ operation: QueuedOperation, isOrdered: Bool = false) {
        let conversation = operation.conversation
        switch operation.change {
        case .createConversation(let new):
            guard let conversation else { return nil }
            self = .socket(method: "Conversation.create", objectID: nil, data: Self.data(of: new, id: conversation))
        case .sendMessage(let message):
            guard let conversation else { return nil }
            self = .socket(
                method: "Message.create", objectID: conversation.layerID,
                data: Self.data(of: message, isOrdered: isOrdered))
        case .patchMetadata(let steps):
            guard let conversation else { return nil }
            self = .rest(
                method: "PATCH", path: "/conversations/\(conversation)", body: .array(steps.map(Self.operation)),
                isIdempotent: true)
        case .changeParticipants(let steps):
            guard let conversation else { return nil }
            self = .rest(
                method: "PATCH", path: "/conversations/\(conversation)", body: .array(steps.map(Self.operation)),
                isIdempotent: true)
        case .changeParts(let id, let change): self = Self.request(change, of: id)
        case .deleteMessage(let id, let mode):
            self = .rest(method: "DELETE", path: "/messages/\(id)?mode=\(mode.rawValue)", body: nil, isIdempotent: true)
        case .deleteConversation(let mode, let position, let leaves):
            guard let conversation else { return nil }
            var path = "/conversations/\(conversation)?mode=\(mode.rawValue)"
            if mode == .myDevices { path += "&position=\(position)" }
            if leaves { path += "&leave=true" }
            self = .rest(method: "DELETE", path: path, body: nil, isIdempotent: true)
        case .markRead(let ids):
            guard let conversation else { return nil }
            self = Self.receipts("read", of: ids, in: conversation, isIdempotent: true)
        case .confirmDelivery(let ids):
            guard let conversation else { return nil }
            self = Self.receipts("delivery", of: ids, in: conversation, isIdempotent: false)
        case .follow(let users):
            self = .rest(
                method: "POST", path: "/following/users", body: .array(users.map { .string($0.layerID) }),
                isIdempotent: true)
        case .unfollow(let users):
            guard let user = users.first else { return nil }
            self = .rest(
                method: "DELETE", path: "/following/users/\(user.percentEncoded)", body: nil, isIdempotent: true)
        case .block(let user):
            self = .rest(method: "PUT", path: "/blocks/users/\(user.percentEncoded)", body: nil, isIdempotent: true)
        case .unblock(let user):
            self = .rest(method: "DELETE", path: "/blocks/users/\(user.percentEncoded)", body: nil, isIdempotent: true)
        case .markAnnouncementRead(let id):
            self = .rest(
                method: "POST", path: "/announcements/\(id)/receipts", body: ["type": "read"], isIdempotent: true)
        case .deleteAnnouncement(let id):
            self = .rest(method: "DELETE", path: "/announcements/\(id)", body: nil, isIdempotent: true)
        }
    }

    private static func request(_ change: PartChange, of id: MessageID) -> OutgoingRequest {
        let path = "/messages/\(id)/parts"
        return switch change {
        case .add(let new): .rest(method: "POST", path: path, body: part(new, of: id), isIdempotent: true)
        case .replace(let old, let new):
            .rest(method: "PUT", path: "\(path)/\(old.lowercaseText)", body: part(new, of: id), isIdempotent: true)
        case .remove(let old):
            .rest(method: "DELETE", path: "\(path)/\(old.lowercaseText)", body: nil, isIdempotent: true)
        case .setAll(let parts):
            .rest(method: "PUT", path: path, body: .array(parts.map { part($0, of: id) }), isIdempotent: true)
        }
    }

    private static func receipts(
        _ type: JSONValue, of ids: [MessageID], in conversation: ConversationID, isIdempotent: Bool
    ) -> OutgoingRequest {
        let body: JSONValue = ["type": type, "ids": .array(ids.map { .string($0.layerID) })]
        return .rest(
            method: "POST", path: "/conversations/\(conversation)/receipts", body: body, isIdempotent: isIdempotent)
    }

    private static func data(of new: LocalChange.NewConversation, id: ConversationID) -> JSONValue {
        [
            "id": .string(id.layerID), "participants": .array(new.participants.map { .string($0.layerID) }),
            "distinct": .bool(new.isDistinct),
            "metadata": tree(new.metadata), "delivery_receipts": .bool(new.deliveryReceipts),
            "read_receipts": .bool(new.readReceipts),
        ]
    }

    private static func data(of message: LocalChange.NewMessage, isOrdered: Bool) -> JSONValue {
        var data: JSONValue = [
            "id": .string(message.id.layerID), "parts": .array(message.parts.map { part($0, of: message.id) }),
        ]
        if let notification = message.notification, let json = try? JSONValue(parsing: notification) {
            data["notification"] = json
        }
        if isOrdered { data["ordered"] = true }
        return data
    }

    private static func part(_ part: PartRecord, of message: MessageID) -> JSONValue {
        var json: JSONValue = [
            "id": .string("\(message.layerID)/parts/\(part.id.lowercaseText)"), "mime_type": .string(part.mimeType),
        ]
        if let content = part.content {
            json["content"] = ["id": .string(content.layerID), "size": .integer(Int64(part.size))]
        } else if let body = part.body {
            for (key, value) in PartPlacement(mimeType: part.mimeType, data: body).members { json[key] = value }
        }
        return json
    }

    private static func operation(_ step: LocalChange.MetadataStep) -> JSONValue {
        let property = JSONValue.string(step.path.isEmpty ? "metadata" : "metadata.\(step.path)")
        guard let values = step.values, !values.isEmpty else {
            return step.path.isEmpty
                ? ["operation": "set", "property": property, "value": [:]]
                : ["operation": "delete", "property": property]
        }
        if let text = values[step.path] { return ["operation": "set", "property": property, "value": .string(text)] }
        let prefix = step.path.isEmpty ? 0 : step.path.utf8.count + 1
        let below = Dictionary(values.map { (String($0.utf8.dropFirst(prefix)) ?? "", $1) }) { $1 }
        return ["operation": "set", "property": property, "value": tree(below)]
    }

    private static func operation(_ step: LocalChange.ParticipantStep) -> JSONValue {
        ["operation": step.isAdded ? "add" : "remove", "property": "participants", "id": .string(step.user.layerID)]
    }

    private static func tree(_ texts: [String: String]) -> JSONValue {
        json(MetadataTree(leaves: texts.map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) }))
    }

    private static func json(_ tree: MetadataTree) -> JSONValue {
        .object(
            tree.children.mapValues { value in
                switch value {
                case .text(let text): .string(text)
                case .tree(let tree): json(tree)
                }
            })
    }
}
