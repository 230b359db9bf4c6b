// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import Conversations

/// The function that sends several messages, compared with the function that sends one.
@Suite struct SendBatchTests {
    private static let app = SchemaDatabase.app
    private static let users = ["ana", "ben", "cleo", "dora"]

    private struct Send {
        let conversation: String
        let sender: String
        var id = UUID()
        var app = SendBatchTests.app

        /// The parameters without the parts, which are the sender's name.
        var arguments: [String] {
            ["'\(app)'", "'\(sender)'", "'\(conversation)'", "'\(id)'", "convert_to('\(sender)', 'UTF8')", "'{}'"]
        }
    }

    /// The columns of a result that do not depend on the time.
    private static let columns = "outcome, position, ordinal, recipients, uncounted, hidden, receipt_policy"

    private static func one(_ send: Send) -> String {
        let arguments = (send.arguments + ["5", "6"]).joined(separator: ", ")
        return "SELECT ROW(\(columns))::text FROM conversations.send_message(\(arguments))"
    }

    private static func batch(_ sends: [Send], columns: String) -> String {
        let types = ["uuid[]", "text[]", "uuid[]", "uuid[]", "bytea[]", "text[]"]
        let arrays = types.enumerated()
            .map { index, type in
                "ARRAY[\(sends.map { $0.arguments[index] }.joined(separator: ", "))]::\(type)"
            }
        let origins = [5, 6].map { "array_fill(\($0)::bigint, ARRAY[\(sends.count)])" }
        return """
            SELECT \(columns) FROM conversations.send_messages(\((arrays + origins).joined(separator: ", "))) r
            ORDER BY r.execution
            """
    }

    private static func create(_ id: String) -> String {
        """
        SELECT conversations.create_conversation(
            '\(app)', 'ana', '\(id)', ARRAY['ben', 'cleo', 'dora'], false, NULL, NULL, 250, NULL, NULL);
        """
    }

    /// Returns the rows of a conversation without its id, ids of messages and times.
    private static func rows(of id: String, in database: SchemaDatabase) async throws -> [String] {
        try await database.lines(
            """
            SELECT ROW(position, message_count, last_ordinal, last_change_at >= created_at)::text
            FROM conversations.conversation WHERE id = '\(id)'
            UNION ALL
            (SELECT ROW(m.ordinal, m.position, m.sender, m.parts, m.notification, m.receipt_policy, m.hidden_from,
                p.ordinal, c.kind, c.actor, c.origin_connection, c.origin_request, c.message_count, c.operations,
                c.created_at = m.sent_at)::text
            FROM conversations.message m
            JOIN conversations.message_place p ON p.message_id = m.id AND p.conversation_id = m.conversation_id
            JOIN conversations.change c ON c.conversation_id = m.conversation_id AND c.position = m.position
                AND c.message_id = m.id
            WHERE m.conversation_id = '\(id)' ORDER BY m.ordinal)
            UNION ALL
            (SELECT ROW(user_id, read, delivered, uncounted, hidden_count)::text FROM conversations.participant
            WHERE conversation_id = '\(id)' ORDER BY user_id)
            """)
    }

    @Test("a batch leaves the rows that as many single calls leave, and returns the same")
    func equivalence() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        let ids = (0..<6).map { _ in UUID().uuidString.lowercased() }
        try await database.execute(ids.map(Self.create).joined())
        // Three conversations get single messages, their twins get batches.
        let pairs = (0..<3).map { (single: ids[2 * $0], batch: ids[2 * $0 + 1]) }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<12 {
            // A batch is sorted by conversation.
            let chosen = (0..<Int.random(in: 1...20, using: &random))
                .map { _ in (pair: Int.random(in: 0..<3, using: &random), sender: Self.users.randomElement() ?? "ana") }
                .sorted { $0.pair < $1.pair }
            var single: [String] = []
            for (pair, sender) in chosen {
                single += try await database.lines(Self.one(Send(conversation: pairs[pair].single, sender: sender)))
            }
            let sends = chosen.map { Send(conversation: pairs[$0.pair].batch, sender: $0.sender) }
            let batch = try await database.lines(Self.batch(sends, columns: "ROW(\(Self.columns))::text"))
            #expect(batch == single)
            // Some read everything, so that own messages extend their ranges.
            let reader = Self.users.randomElement() ?? "ana"
            for id in ids {
                try await database.execute(
                    "SELECT conversations.mark_all_read('\(Self.app)', '\(reader)', '\(id)', NULL, 25, NULL, NULL)")
            }
            for pair in pairs {
                let expected = try await Self.rows(of: pair.single, in: database)
                #expect(try await Self.rows(of: pair.batch, in: database) == expected)
            }
        }
    }

    @Test("a batch leaves out messages that are refused, blocked, sent twice, or restore a hidden conversation")
    func leftOut() async throws {
        let database = try await SchemaDatabase()
        try await database.update()
        let ids = (0..<4).map { _ in UUID().uuidString.lowercased() }
        let (open, hidden, deleted, changed) = (ids[0], ids[1], ids[2], ids[3])
        let used = Send(conversation: open, sender: "ana")
        try await database.execute(ids.map(Self.create).joined())
        try await database.execute(
            """
            \(Self.one(used));
            SELECT conversations.delete_conversation(
                '\(Self.app)', 'ben', '\(hidden)', 'my_devices', false, NULL, NULL, NULL);
            SELECT conversations.delete_conversation(
                '\(Self.app)', 'ben', '\(deleted)', 'all_participants', false, NULL, NULL, NULL);
            SELECT conversations.patch_participants(
                '\(Self.app)', 'ana', '\(changed)', '[{"kind":"remove","users":["dora"]}]', 250, NULL, NULL, NULL);
            INSERT INTO conversations.block (app_id, user_id, other_id, is_own)
            VALUES ('\(Self.app)', 'cleo', 'ana', false);
            """)
        let twice = Send(conversation: open, sender: "ana")
        let sends = [
            Send(conversation: open, sender: "ana"), used, Send(conversation: hidden, sender: "ana"),
            Send(conversation: deleted, sender: "ana"), Send(conversation: changed, sender: "dora"),
            Send(conversation: open, sender: "cleo"), Send(conversation: open, sender: "stranger"),
            Send(conversation: open, sender: "ana", app: UUID().uuidString), twice, twice,
            Send(conversation: changed, sender: "ben"), Send(conversation: UUID().uuidString, sender: "ana"),
        ]
        let executions = try await database.lines(Self.batch(sends, columns: "execution::text"))
        #expect(executions == ["1", "9", "11"])
        let count = try await database.lines("SELECT count(*)::text FROM conversations.message")
        #expect(count == ["4"])
    }
}
