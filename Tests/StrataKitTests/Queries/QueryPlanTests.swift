// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import Testing

@testable import StrataKit

@Suite("query plans of SQLite")
struct QueryPlanTests {
    private func plan<Element>(
        _ query: Query<Element>, _ sql: (CompiledQuery<Element>) -> SQL = { $0.rows() }
    ) throws -> [String] {
        try QueryStore(isEmpty: true)
            .read { reader in
                let (text, arguments) = try sql(reader.compile(query)).build(reader.db)
                return try Row.fetchAll(reader.db, sql: "EXPLAIN QUERY PLAN \(text)", arguments: arguments)
                    .map { $0["detail"] }
            }
    }

    /// Expects each step to use this index, which excludes table scans and sorting.
    private func expectIndex(_ index: String, _ plan: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(!plan.isEmpty, sourceLocation: sourceLocation)
        #expect(plan.allSatisfy { $0.contains("INDEX \(index)") }, "\(plan)", sourceLocation: sourceLocation)
    }

    @Test("the newest conversations are read by an index scan")
    func mainScreen() throws {
        let query = Query<Conversation>(sortBy: [.descending(\.lastMessage.receivedAt)], limit: 20)
        expectIndex("conversation_last_received", try plan(query))
        expectIndex("conversation_last_received", try plan(query) { $0.ids() })
        expectIndex(
            "conversation_last_sent",
            try plan(Query<Conversation>(sortBy: [.descending(\.lastMessage.sentAt)], limit: 20)))
        expectIndex("conversation_created", try plan(Query<Conversation>(sortBy: [.ascending(\.createdAt)], limit: 20)))
    }

    @Test("the newest conversations with unread messages are read by an index scan")
    func unreadConversations() throws {
        let query = Query<Conversation>(
            where: { $0.hasUnreadMessages == true }, sortBy: [.descending(\.lastMessage.receivedAt)], limit: 20)
        expectIndex("conversation_last_received", try plan(query))
    }

    @Test("the messages of a conversation by position are read by an index scan, in both directions")
    func messagesOfConversation() throws {
        let query = Query<Message>(
            where: { $0.conversationID == Example.conversation(1) }, sortBy: [.ascending(\.position)])
        expectIndex("message_order", try plan(query))
        expectIndex("message_order", try plan(query) { $0.rows(.init(limit: 50, isReversed: true)) })
        expectIndex("message_order", try plan(query) { $0.count })
    }

    @Test("unread messages are counted by an index of unread messages only")
    func unreadMessages() throws {
        expectIndex("message_unread", try plan(Query<Message>(where: { $0.isUnread == true })) { $0.count })
        let query = Query<Message>(where: { $0.conversationID == Example.conversation(1) && $0.isUnread == true })
        expectIndex("message_unread", try plan(query) { $0.count })
    }

    @Test("every kind of object is found by id through an index")
    func ids() throws {
        expectIndex(
            "sqlite_autoindex_conversation_1",
            try plan(Query<Conversation>(where: { $0.id == Example.conversation(1) })))
        expectIndex("sqlite_autoindex_message_1", try plan(Query<Message>(where: { $0.id == Example.message(1) })))
        expectIndex("sqlite_autoindex_identity_1", try plan(Query<Identity>(where: { $0.userID == "ana" })))
        let part = try plan(Query<MessagePart>(where: { $0.id == Example.part(1, 0) }))
        #expect(part.contains { $0.contains("INDEX part_id") } && !part.contains { $0.hasPrefix("SCAN") }, "\(part)")
    }

    @Test("the parts of a conversation's messages are found without a table scan")
    func parts() throws {
        let plan = try plan(
            Query<MessagePart>(where: { $0.conversationID == Example.conversation(1) && $0.mimeType == "image/png" }))
        #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
    }
}
