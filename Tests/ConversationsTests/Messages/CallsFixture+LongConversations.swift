// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import StrataModel

@testable import Conversations

/// Direct database writes for tests of long conversations, because a call for each message would take too long.
extension CallsFixture {
    /// Returns the id of the message with this ordinal in a conversation filled by ``fill(_:with:)``.
    func bulkMessage(_ conversation: ConversationID, _ ordinal: Int) -> MessageID {
        let digits = String(ordinal)
        let text =
            conversation.rawValue.uuidString.prefix(24) + String(repeating: "0", count: 12 - digits.count) + digits
        return MessageID(rawValue: UUID(uuidString: String(text)) ?? UUID())
    }

    /// Adds messages to a conversation: every seventh by ben, the others by ana. They are not logged.
    func fill(_ conversation: ConversationID, with count: Int) async throws {
        let id = "('\(conversation.rawValue.uuidString.prefix(24))' || lpad(g::text, 12, '0'))::uuid"
        try await execute(
            """
            DO $$
            DECLARE
                c conversations.conversation := (SELECT x FROM conversations.conversation x WHERE x.id = '\(conversation)');
                first bigint := c.message_count + 1;
                last bigint := c.message_count + \(count);
            BEGIN
                INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts)
                SELECT c.id, g, \(id), c.position + g - first + 1, CASE WHEN g % 7 = 0 THEN 'ben' ELSE 'ana' END, now(), ''
                FROM generate_series(first, last) g;
                INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
                SELECT \(id), c.app_id, c.id, g FROM generate_series(first, last) g;
                UPDATE conversations.conversation x SET message_count = last, last_ordinal = last, position = c.position + \(count) WHERE x.id = c.id;
                UPDATE conversations.participant p SET uncounted = p.uncounted + (
                    SELECT count(*) FROM conversations.message m WHERE m.conversation_id = c.id AND m.ordinal >= first AND m.sender = p.user_id)
                WHERE p.conversation_id = c.id AND p.left_position IS NULL;
            END
            $$
            """)
    }

    /// Gives receipts of one user in one batch, as the service does. Returns the number of effective ones.
    func receipts(
        _ kind: ReceiptKind, _ ordinals: [Int], in conversation: ConversationID, by user: String
    ) async throws -> Int64 {
        let (ids, count) = (
            ordinals.map { "'\(bulkMessage(conversation, $0))'" }.joined(separator: ","), ordinals.count
        )
        return try await number(
            """
            SELECT coalesce(cardinality(r.users), 0)::int8 FROM conversations.give_receipts('\(app)', '\(conversation)',
                array_fill('\(user)'::text, ARRAY[\(count)]), ARRAY[\(ids)]::uuid[], array_fill(\(kind == .read ? 2 : 1)::int8, ARRAY[\(count)]),
                25, NULL, NULL) r
            """)
    }

    /// Returns the number of message rows that a statement reads, from the table and from its key.
    func messageRowsRead(by statement: String) async throws -> Int64 {
        let read = ["message", "message_pkey"]
            .map { "pg_stat_get_xact_tuples_returned('conversations.\($0)'::regclass)" }.joined(separator: " + ")
        try await execute(
            """
            CREATE OR REPLACE FUNCTION public.message_rows_read(statement text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
            DECLARE
                before bigint := \(read);
            BEGIN
                EXECUTE statement;
                RETURN \(read) - before;
            END
            $$
            """)
        return try await number("SELECT public.message_rows_read($do$SELECT \(statement)$do$)")
    }

    /// Runs `body` while a participant's row holds at most `limit` ranges of a set.
    func withRangeLimit(_ limit: Int, _ body: () async throws -> Void) async throws {
        func set(_ limit: Int) async throws {
            try await execute(
                "CREATE OR REPLACE FUNCTION conversations.range_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN \(limit)"
            )
        }
        let before = try await number("SELECT conversations.range_limit()")
        try await set(limit)
        do {
            try await body()
        } catch {
            try await set(Int(before))
            throw error
        }
        try await set(Int(before))
    }
}
