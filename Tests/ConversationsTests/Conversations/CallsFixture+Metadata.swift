// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import StrataModel

@testable import Conversations

/// The metadata of conversations, as the database holds it.
extension CallsFixture {
    func tree(_ id: ConversationID) async throws -> [String: String] {
        try await leaves("SELECT path, value FROM metadata.leaf WHERE conversation_id = '\(id)'")
    }

    func keptTree(_ id: ConversationID, _ user: String) async throws -> [String: String] {
        try await leaves(
            """
            SELECT l.path, l.value
            FROM metadata.kept_tree k
            JOIN conversations.conversation c ON c.id = k.conversation_id
            CROSS JOIN LATERAL metadata.kept_tree_of(c.id, k.user_id, c.position) t
            CROSS JOIN LATERAL unnest(t.paths, t.vals) l(path, value)
            WHERE k.conversation_id = '\(id)' AND k.user_id = '\(user)'
            """)
    }

    private func leaves(_ sql: String) async throws -> [String: String] {
        var tree: [String: String] = [:]
        for row in try await admin.query(Statement("test.\(UUID())", sql: sql), deadline: .soon) {
            tree[try row.get(0)] = try row.get(1) as String
        }
        return tree
    }
}

func set(_ path: String, _ value: String) -> MetadataOperation {
    .set(MetadataPath(trusted: path), leaves: [MetadataLeaf(path: MetadataPath(trusted: path), value: value)])
}
func set(_ path: String, _ leaves: [String: String]) -> MetadataOperation {
    .set(
        MetadataPath(trusted: path),
        leaves: leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.key), value: $0.value) })
}
func delete(_ path: String) -> MetadataOperation { .delete(MetadataPath(trusted: path)) }

extension MetadataTree {
    var flat: [String: String] { Dictionary(uniqueKeysWithValues: leaves.map { ($0.path.dotted, $0.value) }) }
}
