// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster

/// A webhook event that a receiver accepted.
struct HookDelivery: Codable, Sendable, Equatable {
    /// The facts of an event that the judge compares with a conversation's log.
    enum Content: Codable, Sendable, Hashable {
        case conversationCreated
        case conversationDeleted
        /// The operations in order, as `set a.b=c` or `delete a`.
        case metadata([String])
        /// The user ids in text order.
        case added([String])
        case removed([String])
        case message(id: String)
        case messageDeleted(id: String)
        /// A range of positions, as in the log.
        case receipts(user: String, isRead: Bool, from: Int, to: Int)
        /// An event that the load does not cause.
        case other(String)
    }

    let hook: String
    /// The time of arrival, in seconds since 1970.
    let time: Double
    let id: String
    let conversation: String
    let content: Content
    /// A hash of the body, for the comparison of repetitions.
    let digest: UInt64

    init(hook: String, time: Double, id: String, conversation: String, content: Content, digest: UInt64) {
        self.hook = hook
        self.time = time
        self.id = id
        self.conversation = conversation
        self.content = content
        self.digest = digest
    }

    init(_ event: WebhookReceiver.Event, time: Double) {
        let json = event.json
        hook = event.path
        self.time = time
        id = event.id ?? ""
        conversation = json["conversation"]["id"].string ?? json["message"]["conversation"]["id"].string ?? ""
        content = Self.content(of: json)
        digest = Self.digest(of: event.body)
    }

    private static func content(of json: JSONValue) -> Content {
        let (message, changes) = (json["message"]["id"].string ?? "", json["changes"].array ?? [])
        switch json["event"]["type"].string ?? "" {
        case "Message.created", "message.sent": return .message(id: message)
        case "Message.deleted", "message.deleted": return .messageDeleted(id: message)
        case "Conversation.created", "conversation.created": return .conversationCreated
        case "Conversation.deleted", "conversation.deleted": return .conversationDeleted
        case "Conversation.updated": return .metadata(changes.map(operation))
        case "Participation.created": return .added(changes.map { userID($0["id"]) }.sorted())
        case "Participation.deleted": return .removed(changes.map { userID($0["id"]) }.sorted())
        case "Receipt.created":
            let (receipt, step) = (json["receipt"], Mirror.positionStep)
            return .receipts(
                user: json["actor"]["user_id"].string ?? "", isRead: receipt["type"].string == "Read",
                from: (receipt["positions"]["from"].int ?? 0) / step, to: (receipt["positions"]["to"].int ?? 0) / step)
        case let type: return .other(type)
        }
    }

    private static func operation(_ json: JSONValue) -> String {
        let path = String((json["property"].string ?? "").dropFirst("metadata.".count))
        return operation(path, json["operation"].string == "set" ? json["value"].string : nil)
    }

    static func operation(_ path: String, _ value: String?) -> String {
        value.map { "set \(path)=\($0)" } ?? "delete \(path)"
    }

    private static func userID(_ json: JSONValue) -> String {
        String((json.string ?? "").dropFirst("layer:///identities/".count))
    }

    /// Returns an FNV-1a hash.
    private static func digest(of bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
