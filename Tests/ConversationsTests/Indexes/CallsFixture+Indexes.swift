// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import TestTiers
import Testing

@testable import Conversations

/// Calls about metadata indexes, as gateways make them.
extension CallsFixture {
    @discardableResult
    func addIndex(_ path: String) async throws -> (index: MetadataIndex, isNew: Bool) {
        let request = ProtoAddIndexRequest.with {
            $0.appID = Data(app)
            $0.path = path
        }
        let answer = try await call(IndexAPI.addIndex, request)
        return (MetadataIndex(answer.index), answer.isNew)
    }

    func removeIndex(_ path: String) async throws {
        let request = ProtoRemoveIndexRequest.with {
            $0.appID = Data(app)
            $0.path = path
        }
        try await call(IndexAPI.removeIndex, request)
    }

    func indexes() async throws -> [MetadataIndex] {
        try await call(IndexAPI.listIndexes) { $0.appID = Data(app) }.indexes.map { MetadataIndex($0) }
    }

    @discardableResult
    func buildIndexes(batch: Int64 = 1000) async throws -> Int64? {
        try await indexBuilder.step(batch: batch, deadline: .soon)
    }

    /// Adds an index and builds it. Pending indexes of other tests are built, too.
    func index(_ path: String) async throws {
        try await addIndex(path)
        try await eventually {
            try await buildIndexes()
            return try await indexes().contains { $0.path.dotted == path && $0.readyAt != nil }
        }
    }

    /// Returns a page of matching conversations.
    /// - Parameter user: The user whose list is searched; empty: all conversations of the app.
    func find(
        _ path: String, _ test: MetadataCondition.Test, of user: String = "", pageSize: Int32 = 100,
        from: ConversationID? = nil
    ) async throws -> (ids: [ConversationID], total: Int64?, next: ConversationID?) {
        let request = ProtoFindConversationsRequest.with {
            $0.appID = Data(app)
            $0.userID = user
            $0.modelCondition = MetadataCondition(path: MetadataPath(trusted: path), test: test)
            $0.pageSize = pageSize
            if let from { $0.fromID = Data(from) }
        }
        let answer = try await call(IndexAPI.findConversations, request)
        return (
            try answer.ids.map { try ConversationID(contract: $0) }, answer.hasTotal ? answer.total : nil,
            answer.end.hasLastID ? try ConversationID(contract: answer.end.lastID) : nil
        )
    }

    func findAll(
        _ path: String, _ test: MetadataCondition.Test, of user: String = "", pageSize: Int32
    ) async throws -> [ConversationID] {
        var (found, from): ([ConversationID], ConversationID?) = ([], nil)
        repeat {
            let page = try await find(path, test, of: user, pageSize: pageSize, from: from)
            found += page.ids
            from = page.next
        } while from != nil
        return found
    }

    /// Returns the number of wrong or missing entries in the app's index, compared with its conversations and former
    /// participants.
    func wrongEntries(of path: String) async throws -> Int64 {
        try await number(
            """
            WITH reader AS (
                SELECT c.id, p.user_id::text AS user_id, p.left_position IS NOT NULL AS has_left, c.position
                FROM conversations.conversation c
                JOIN conversations.participant p ON p.conversation_id = c.id
                WHERE c.app_id = '\(app)' AND c.deleted_position IS NULL
                UNION ALL SELECT c.id, '', false, c.position
                FROM conversations.conversation c WHERE c.app_id = '\(app)' AND c.deleted_position IS NULL
            ), expected AS (
                SELECT r.id, r.user_id, metadata.index_key(t.vals[array_position(t.paths, '\(path)')]) AS key
                FROM reader r
                CROSS JOIN LATERAL metadata.tree_within(
                    metadata.largest_tree(), r.id, CASE WHEN r.has_left THEN r.user_id END, r.position) t
            ), stored AS (
                SELECT e.conversation_id AS id, e.user_id, e.value_key AS key
                FROM metadata.index_entry e JOIN metadata.index_path i ON i.app_id = e.app_id AND i.path_id = e.path_id
                WHERE i.app_id = '\(app)' AND i.path = '\(path)' AND i.removed_at IS NULL
            )
            SELECT count(*) FROM expected e FULL JOIN stored s ON s.id = e.id AND s.user_id = e.user_id WHERE e.key IS DISTINCT FROM s.key
            """)
    }
}
