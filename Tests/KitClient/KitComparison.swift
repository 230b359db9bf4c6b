// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient
package import StrataKit
package import TestCluster

/// Compares a store with the state that the server shows to the same user. Both are represented as JSON objects: one
/// for each conversation, and one for each message that the server has. `objectsOf` in
/// Clients/JavaScript/test/support/system.js makes the same objects of a client with strata.js.
package enum KitComparison {
    /// Returns the objects that differ between the server and a store.
    package static func differences(of store: [JSONValue], from user: TestUser) async throws -> [String] {
        let (own, shown) = (Set(store), Set(try await objects(of: user)))
        return own.subtracting(shown).map { "only here:   \($0)" }.sorted()
            + shown.subtracting(own).map { "only server: \($0)" }.sorted()
    }

    /// Returns the content of a client's store as objects.
    package static func objects(of client: StrataClient) async throws -> [JSONValue] {
        var objects: [JSONValue] = []
        for conversation in try await client.execute(Query<StrataKit.Conversation>()) {
            let messages = try await client.messages(in: conversation.id).filter(\.isSent)
            // A message that is not sent, or was refused, follows all others.
            let isLastSent = conversation.lastMessage?.isSent ?? true
            let last = isLastSent ? conversation.lastMessage : messages.last
            objects.append([
                "id": .string(conversation.id.layerID),
                "participants": strings(conversation.participantIDs.map(\.rawValue).sorted()),
                "distinct": .bool(conversation.isDistinct), "metadata": texts(conversation.metadata.flattened),
                "unread": .integer(Int64(conversation.totalUnreadMessageCount)),
                "total": .integer(Int64(conversation.totalMessageCount)), "last": text(last?.id.layerID),
            ])
            objects += messages.map { object(of: $0) }
        }
        return objects
    }

    private static func object(of message: StrataKit.Message) -> JSONValue {
        let statuses = message.recipientStatusByUserID.map { ($0.key.rawValue, "\($0.value)") }
        return [
            "id": .string(message.id.layerID), "position": message.position.map { .integer($0) } ?? .null,
            "text": text(message.parts.first?.text), "sender": text(message.sender.userID?.rawValue),
            "isUnread": .bool(message.isUnread), "statuses": texts(Dictionary(statuses) { $1 }),
        ]
    }

    /// Returns the state that the server shows to a user as objects.
    package static func objects(of user: TestUser) async throws -> [JSONValue] {
        let state = try await FreshState(of: user)
        var objects: [JSONValue] = []
        for conversation in state.conversations {
            let participants = (conversation["participants"].array ?? []).compactMap { $0["user_id"].string }
            objects.append([
                "id": conversation["id"], "participants": strings(participants.sorted()),
                "distinct": conversation["distinct"], "metadata": texts(conversation["metadata"].leaves),
                "unread": conversation["unread_message_count"], "total": conversation["total_message_count"],
                "last": conversation["last_message"]["id"],
            ])
            objects += (state.messages[conversation["id"].string ?? ""] ?? []).map { object(of: $0) }
        }
        return objects
    }

    private static func object(of message: JSONValue) -> JSONValue {
        let statuses = (message["recipient_status"].object ?? [:])
            .map { ($0.key.split(separator: "/").last.map(String.init) ?? "", $0.value.string ?? "") }
        return [
            "id": message["id"], "position": message["position"], "text": message["parts"][0]["body"],
            "sender": message["sender"]["user_id"], "isUnread": message["is_unread"],
            "statuses": texts(Dictionary(statuses) { $1 }),
        ]
    }

    private static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
    private static func strings(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
    private static func texts(_ values: [String: String]) -> JSONValue { .object(values.mapValues { .string($0) }) }
}
