// SPDX-License-Identifier: Apache-2.0
import Mutations
import Postgres
import Schema
import TestSupport
import Testing

@testable import Conversations

/// The columns that rows are read by, against those that the server describes.
@Suite struct ColumnTests {
    /// A statement, the columns that its rows are read by, and those of its columns that are not read.
    private struct Case {
        let columns: any ColumnSet.Type
        let statements: [Statement]
        let unread: Set<String>

        init(_ columns: any ColumnSet.Type, _ statements: Statement..., unread: Set<String> = []) {
            (self.columns, self.statements, self.unread) = (columns, statements, unread)
        }

        init(_ columns: any ColumnSet.Type, _ statement: WriteStatement) {
            // Those of a change with a name are read by Written.
            (self.columns, statements, unread) = (columns, [statement.plain, statement.once], ["told_position", "told_user_position"])
        }
    }

    private static let cases: [Case] = [
        Case(ViewColumns.self, .conversationGet), Case(ConversationListColumns.self, .conversationList),
        Case(ConversationLoadColumns.self, .conversationLoad), Case(ConversationsGetColumns.self, .conversationsGet),
        Case(MessageColumns.self, .messageGet), Case(MessageListColumns.self, .messageList), Case(MessagesLocateColumns.self, .messagesLocate),
        Case(LogColumns.self, .readLogs, .readChanges, unread: ["m_deleted"]),
        Case(BaselineColumns.self, .baseline, .recentBaseline, .replayBaseline, unread: ["epoch", "is_certain"]),
        Case(
            EpochColumns.self, .replayBaseline,
            unread: [
                "conversation_id", "position", "after", "uncounted", "hidden", "message_count", "is_participant", "oldest_at", "as_of", "complete",
            ]),
        Case(ConversationCreateColumns.self, .conversationCreate), Case(ConversationDeleteColumns.self, .conversationDelete),
        Case(MessageSendColumns.self, .messageSend), Case(MessageDeleteColumns.self, .messageDelete), Case(PartsEditColumns.self, .partsEdit),
    ]

    @Test("every statement returns the columns that its rows are read by, with their types, and none that are not read")
    func described() async throws {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await ServiceFixture.migratedDatabase()))
        for test in Self.cases {
            for statement in test.statements {
                let read = try await migrator.check(test.columns, of: statement)
                let described = try #require(try await migrator.describe([statement]).first)
                let unread = Set(described.columns.map(\.name)).subtracting(read).subtracting(test.unread)
                #expect(unread == [], "\(statement.name)")
            }
        }
    }
}
