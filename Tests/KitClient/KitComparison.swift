// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
package import StrataKit
package import TestCluster

/// Compares a store with the state that the server shows to the same user. Both are represented as lines of text.
package enum KitComparison {
    /// Returns the lines that differ between a client's store and the server.
    package static func differences(of client: StrataClient, from user: TestUser) async throws -> [String] {
        try await differences(of: lines(of: client), from: user)
    }

    /// Returns the lines that differ between the server and a store in another process, which has reported its lines.
    package static func differences(of store: [String], from user: TestUser) async throws -> [String] {
        let (own, shown) = (Set(store), Set(try await lines(of: user)))
        return own.subtracting(shown).sorted().map { "only here:   \($0)" }
            + shown.subtracting(own).sorted().map { "only server: \($0)" }
    }

    /// Returns the content of a client's store as lines.
    package static func lines(of client: StrataClient) async throws -> [String] {
        var lines: [String] = []
        for conversation in try await client.execute(Query<StrataKit.Conversation>()) {
            lines.append(
                line(
                    conversation.id.layerID, conversation.participantIDs.map(\.rawValue), conversation.isDistinct,
                    conversation.metadata.flattened,
                    conversation.totalUnreadMessageCount, conversation.totalMessageCount))
            for message in try await client.messages(in: conversation.id) where message.isSent {
                lines.append(
                    line(
                        message.id.layerID, message.position, message.parts.first?.text, message.isUnread,
                        message.recipientStatusByUserID.map { ($0.key.layerID, "\($0.value)") }))
            }
        }
        return lines
    }

    /// Returns the state that the server shows to a user as lines.
    static func lines(of user: TestUser) async throws -> [String] {
        let state = try await FreshState(of: user)
        var lines: [String] = []
        for conversation in state.conversations {
            let id = conversation["id"].string ?? ""
            lines.append(
                line(
                    id, (conversation["participants"].array ?? []).compactMap { $0["user_id"].string },
                    conversation["distinct"].bool ?? false,
                    conversation["metadata"].leaves, conversation["unread_message_count"].int ?? -1,
                    conversation["total_message_count"].int ?? -1))
            for message in state.messages[id] ?? [] {
                lines.append(
                    line(
                        message["id"].string ?? "", message["position"].int.map { Int64($0) },
                        message["parts"][0]["body"].string,
                        message["is_unread"].bool ?? false,
                        (message["recipient_status"].object ?? [:]).map { ($0.key, $0.value.string ?? "") }))
            }
        }
        return lines
    }

    private static func line(
        _ id: String, _ participants: [String], _ isDistinct: Bool, _ metadata: [String: String], _ unread: Int,
        _ total: Int
    ) -> String {
        let texts = metadata.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        return "\(id) \(participants.sorted()) distinct: \(isDistinct) \(texts) unread: \(unread) total: \(total)"
    }

    private static func line(
        _ id: String, _ position: Int64?, _ text: String?, _ isUnread: Bool, _ statuses: [(String, String)]
    ) -> String {
        "  \(id) at \(position ?? -1): \(text ?? "") unread: \(isUnread) \(statuses.sorted { $0.0 < $1.0 }.map { "\($0)=\($1)" })"
    }
}
