// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

@testable import StrataKit

/// Renders objects like the gateway.
extension ModelServer {
    static func time(_ microseconds: Int64) -> String {
        let milliseconds = microseconds / 1000
        func digits(_ value: Int64, _ count: Int) -> String {
            String(repeating: "0", count: max(0, count - "\(value)".count)) + "\(value)"
        }
        let seconds = milliseconds / 1000
        let day = digits(1 + seconds / 86_400, 2)
        let clock = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map { digits($0, 2) }.joined(separator: ":")
        return "2024-01-\(day)T\(clock).\(digits(milliseconds % 1000, 3))Z"
    }

    /// Parses the output of ``time(_:)``.
    static func microseconds(_ time: String) -> Int64? {
        ISO8601.parse(time).map { $0.microseconds - (ISO8601.parse(Self.time(0))?.microseconds ?? 0) }
    }

    static func identity(_ user: UserID) -> JSONValue {
        [
            "id": .string(user.layerID), "url": "https://sim/identities/\(user.percentEncoded)",
            "user_id": .string(user.rawValue),
            "display_name": .string(user.rawValue.uppercased()), "avatar_url": nil,
        ]
    }

    func object(_ message: ModelMessage, in conversation: ModelConversation, for user: UserID) -> JSONValue {
        [
            "id": .string(message.id.layerID), "url": "https://sim/messages/\(message.id)",
            "position": .integer(message.position * 8192),
            "conversation": reference(conversation.id), "parts": .array(message.parts),
            "sent_at": .string(Self.time(message.sentAt)),
            "updated_at": message.updatedAt.map { .string(Self.time($0)) } ?? nil,
            "sender": Self.identity(message.sender),
            "is_unread": .bool(conversation.isUnread(message, by: user)),
            "recipient_status": .object(
                Dictionary(message.statuses.map { ($0.layerID, .string(Self.word($1))) }) { $1 }),
        ]
    }

    func object(_ conversation: ModelConversation, for user: UserID) -> JSONValue {
        guard let view = conversation.views[user] else { return nil }
        let messages = conversation.visible(to: user)
        return [
            "id": .string(conversation.id.layerID), "url": "https://sim/conversations/\(conversation.id)",
            "messages_url": "https://sim/conversations/\(conversation.id)/messages",
            "created_at": .string(Self.time(conversation.createdAt)),
            "participants": .array(view.isIn ? conversation.participants.map(Self.identity) : []),
            "distinct": .bool(view.left?.isDistinct ?? conversation.isDistinct),
            "last_message": messages.last.map { object($0, in: conversation, for: user) } ?? nil,
            "unread_message_count": .integer(Int64(conversation.unread(by: user))),
            "total_message_count": .integer(Int64(messages.count)),
            "metadata": Self.tree(view.left?.metadata ?? conversation.metadata), "delivery_receipts": true,
            "read_receipts": true,
            "position": .integer(view.left?.position ?? conversation.head), "epoch": .string(epoch),
        ]
    }

    func reference(_ id: ConversationID) -> JSONValue {
        ["id": .string(id.layerID), "url": "https://sim/conversations/\(id)"]
    }

    static func word(_ status: RecipientStatus) -> String {
        switch status {
        case .read: "read"
        case .delivered: "delivered"
        default: "sent"
        }
    }

    static func tree(_ texts: [String: String]) -> JSONValue {
        func set(_ path: ArraySlice<Substring>, _ text: String, in tree: inout JSONValue) {
            guard let key = path.first.map(String.init) else { return tree = .string(text) }
            var below = tree[key]
            set(path.dropFirst(), text, in: &below)
            tree[key] = below
        }
        return texts.reduce(into: .object([:])) { set($1.key.split(separator: ".")[...], $1.value, in: &$0) }
    }

    static func texts(_ json: JSONValue, below path: String) -> [String: String] {
        if let text = json.string { return [path: text] }
        return (json.object ?? [:])
            .reduce(into: [:]) { found, member in
                found.merge(texts(member.value, below: path.isEmpty ? member.key : "\(path).\(member.key)")) { $1 }
            }
    }

    static func error(_ id: String, _ data: JSONValue = .object([:])) -> JSONValue {
        [
            "id": .string(id), "code": 1, "message": .string("The server answered \(id)."), "url": "https://sim/errors",
            "data": data,
        ]
    }
}
