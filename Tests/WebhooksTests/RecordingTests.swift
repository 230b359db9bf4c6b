// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import Webhooks

/// The events recorded for changes, against PostgreSQL.
@Suite("recording for webhooks")
struct RecordingTests {
    private static let conversation = "22222222-0000-4000-8000-000000000000"

    /// Returns SQL that creates a conversation of ana, ben and cleo, with ten messages by ana and ben. The fifth is
    /// deleted.
    private static func scene(in app: AppID) -> String {
        """
        DO $$ BEGIN
            PERFORM conversations.ensure_identities('\(app)', ARRAY['ana', 'ben', 'cleo']);
            UPDATE conversations.identity SET display_name = upper(user_id) WHERE app_id = '\(app)';
            PERFORM conversations.create_conversation(
                '\(app)', 'ana', '\(conversation)', ARRAY['ben', 'cleo'], false, '{}', '{}', 250, NULL, NULL);
            FOR n IN 1..10 LOOP
                PERFORM conversations.send_message(
                    '\(app)', CASE n % 2 WHEN 0 THEN 'ana' ELSE 'ben' END, '\(conversation)', gen_random_uuid(), decode('ab', 'hex'), NULL, NULL, NULL,
                    NULL, true);
            END LOOP;
            DELETE FROM conversations.message WHERE conversation_id = '\(conversation)' AND ordinal = 5;
        END $$
        """
    }

    /// Receipts by cleo, who read messages 2 to 7, and by ana, to whom 9 and 1 were delivered.
    private static let receipts = """
        (SELECT jsonb_agg(jsonb_build_object('user', r.user_id, 'ordinal', r.ordinal, 'status', r.status) ORDER BY r.n)
        FROM (
            SELECT o AS n, 'cleo' AS user_id, o AS ordinal, 2 AS status FROM generate_series(2, 7) o
            UNION ALL VALUES (8, 'ana', 9, 1), (9, 'ana', 1, 1)) r)
        """

    private static func record(_ kinds: [WebhookEventKind], in app: AppID) -> String {
        """
        PERFORM webhooks.record_receipts(
            '\(app)', '\(conversation)', 100, '2026-01-02', \(receipts), '{\(kinds.map(\.rawValue).joined(separator: ","))}');
        """
    }

    @Test(
        "receipts are recorded in order, once for all hooks, with the messages' current state; deleted messages have none"
    )
    func content() async throws {
        try await HookDatabase.run { database in
            let both = try await database.hook(kinds: [.messageRead, .messageDelivered])
            let read = try await database.hook(kinds: [.messageRead])
            let runs = try await database.hook(kinds: [.receiptCreated])
            let none = try await database.hook()
            try await database.execute(Self.scene(in: database.app))
            let kinds: [WebhookEventKind] = [.messageCreated, .messageRead, .messageDelivered, .receiptCreated]
            try await database.execute("DO $$ BEGIN \(Self.record(kinds, in: database.app)) END $$")
            func told(_ hook: WebhookID) async throws -> [String] {
                try await database.texts(
                    """
                    SELECT e.kind || ' ' || coalesce(e.facts -> 'message' ->> 'ordinal', (e.facts ->> 'from') || '-' || (e.facts ->> 'to'))
                    FROM webhooks.outbox o JOIN webhooks.event e ON e.id = o.event WHERE o.hook_id = '\(hook)' ORDER BY o.position, o.number
                    """)
            }
            let readings = [2, 3, 4, 6, 7].map { "message.read \($0)" }
            #expect(try await told(both) == readings + ["message.delivered 9", "message.delivered 1"])
            #expect(try await told(read) == readings)
            // The ranges are positions; the conversation's creation has the first one.
            #expect(
                try await told(runs) == [
                    "Receipt.created 2-2", "Receipt.created 3-5", "Receipt.created 7-8", "Receipt.created 10-10",
                ])
            #expect(try await told(none).isEmpty)
            let different = try await database.number(
                """
                SELECT count(*) FROM webhooks.event o
                CROSS JOIN LATERAL conversations.message_at(o.subject, (o.facts -> 'message' ->> 'ordinal')::int8) m
                CROSS JOIN LATERAL webhooks.complete(o.app_id, o.subject, o.kind, o.facts, 1000) c
                WHERE o.kind LIKE 'message.%' AND (
                    c.facts <> webhooks.message_facts(o.app_id, m, o.facts ->> 'actor') || jsonb_build_object('actor', o.facts ->> 'actor')
                    OR c.parts <> m.parts OR o.created_at <> '2026-01-02' OR o.parts IS NOT NULL OR octet_length(o.facts::text) > 300
                    OR c.facts -> 'identities' -> 'ana' IS NULL AND c.facts -> 'identities' -> 'ben' ->> 'display_name' IS DISTINCT FROM 'BEN')
                """)
            #expect(different == 0)
            // All hooks share one row per event.
            #expect(try await database.number("SELECT count(DISTINCT event_id) FROM webhooks.event") == 7 + 4)
            #expect(try await database.number("SELECT count(*) FROM webhooks.event") == 7 + 4)
            let lighter = try await database.number(
                """
                SELECT count(*) FROM webhooks.lane l WHERE l.bytes <> (
                    SELECT sum(o.size) FROM webhooks.outbox o WHERE o.hook_id = l.hook_id AND o.lane = l.lane)
                """)
            #expect(lighter == 0)
            #expect(try await database.number("SELECT count(*) FROM webhooks.lane") == 3)
        }
    }

    @Test("receipts of any number of messages lock the lane once, and read neither parts nor names")
    func work() async throws {
        try await HookDatabase.run { database in
            for _ in 0..<2 { _ = try await database.hook(kinds: [.messageRead, .messageDelivered]) }
            try await database.execute(Self.scene(in: database.app))
            try await database.execute(
                """
                DO $$ BEGIN
                    SET LOCAL track_functions = 'all';
                    \(Self.record([.messageRead, .messageDelivered], in: database.app))
                    CREATE TABLE public.calls AS
                    SELECT p.proname::text AS name, pg_stat_get_xact_function_calls(p.oid) AS calls FROM pg_proc p
                    WHERE p.proname IN ('lock_lanes', 'emit', 'message_at', 'messages_at', 'message_facts', 'identities')
                        AND p.pronamespace IN ('webhooks'::regnamespace, 'conversations'::regnamespace);
                END $$
                """)
            let calls = try await database.texts(
                "SELECT name || ' ' || calls FROM public.calls WHERE calls > 0 ORDER BY name")
            #expect(calls == ["lock_lanes 1"])
        }
    }

    @Test("an event is as large as its change, independent of message, tree and number of hooks")
    func sizes() async throws {
        try await HookDatabase.run { database in
            for _ in 0..<3 {
                _ = try await database.hook(kinds: [.messageRead, .conversationUpdated, .partUpdated, .messageUpdated])
            }
            try await database.execute(Self.scene(in: database.app))
            try await database.execute(
                """
                UPDATE conversations.message SET parts = convert_to(repeat('a', 200000), 'UTF8') WHERE conversation_id = '\(Self.conversation)';
                INSERT INTO metadata.leaf (conversation_id, path, value, position)
                SELECT '\(Self.conversation)', 'k' || n, repeat('v', 2000), 1 FROM generate_series(1, 500) n;
                INSERT INTO metadata.tree (conversation_id, bytes, leaves) VALUES ('\(Self.conversation)', 1000000, 500)
                ON CONFLICT (conversation_id) DO UPDATE SET bytes = 1000000;
                INSERT INTO conversations.change (conversation_id, position, kind, actor, created_at, message_count, operations, ordinal) VALUES
                    ('\(Self.conversation)', 101, 3, 'ana', now(), 9, '{"effects": [["k1", "x"]]}', NULL),
                    ('\(Self.conversation)', 102, 9, 'ana', now(), 9, '{"edits": [{"kind": 1, "part": "00000000-0000-4000-8000-000000000001"}]}', 7);
                SELECT webhooks.record('\(database.app)', '\(Self.conversation)', 101, 102);
                DO $$ BEGIN
                    PERFORM webhooks.record_receipts(
                        '\(database.app)', '\(Self.conversation)', 103, now(), webhooks.all_read('\(Self.conversation)', 'cleo', 1, 11),
                        '{message.read}');
                END $$
                """)
            #expect(
                try await database.texts(
                    "SELECT kind || ' ' || count(*) FROM webhooks.event GROUP BY kind ORDER BY kind")
                    == ["Conversation.updated 1", "Message.updated 1", "MessagePart.updated 1", "message.read 9"])
            #expect(
                try await database.number(
                    "SELECT max(octet_length(facts::text) + coalesce(octet_length(parts), 0)) FROM webhooks.event")
                    < 400)
            #expect(try await database.number("SELECT count(*) FROM webhooks.outbox") == 3 * 12)
        }
    }

    @Test("an oversized tree is omitted from its event")
    func largeTree() async throws {
        try await HookDatabase.run { database in
            try await database.execute(Self.scene(in: database.app))
            try await database.execute(
                """
                INSERT INTO metadata.leaf (conversation_id, path, value, position) VALUES ('\(Self.conversation)', 'a', 'b', 1);
                INSERT INTO metadata.tree (conversation_id, bytes, leaves) VALUES ('\(Self.conversation)', 2, 1)
                """)
            func metadata(_ bytes: Int) async throws -> [String] {
                try await database.texts(
                    """
                    SELECT coalesce(c.facts -> 'conversation' ->> 'metadata', 'none') || (c.facts -> 'conversation' ->> 'participants')
                    FROM webhooks.complete(
                        '\(database.app)', '\(Self.conversation)', 'Conversation.updated', '{"conversation": {}, "identities": {}}', \(bytes)) c
                    """)
            }
            #expect(try await metadata(2) == [#"[["a", "b"]]["ana", "ben", "cleo"]"#])
            #expect(try await metadata(1) == [#"none["ana", "ben", "cleo"]"#])
        }
    }

    @Test("a message's event data is created without serializing its parts")
    func objects() async throws {
        try await HookDatabase.run { database in
            let source = "SELECT prosrc FROM pg_proc WHERE oid = 'webhooks.message_object'::regproc"
            let count = try await database.number(
                "SELECT count(*) FROM (\(source)) f WHERE prosrc LIKE '%m.parts := NULL;%to_jsonb(m)%'")
            #expect(count == 1)
        }
    }

    @Test("a repeated registration returns the existing hook, even at the app's limit")
    func creation() async throws {
        try await HookDatabase.run { database in
            func create(_ id: WebhookID) async throws(Failure) -> Hook {
                try await database.store.create(
                    CreateHook(
                        webhook: Webhook(
                            id: id, app: database.app, version: .v3, targetURL: "https://example.org/",
                            events: ["Message.created"], config: [:],
                            status: .unverified, statusReason: nil, createdAt: Timestamp(microseconds: 0)),
                        sealedSecret: [1],
                        kinds: [.messageCreated],
                        config: "{}", limit: 1, lease: 60_000, token: nil), deadline: HookDatabase.soon)
            }
            let id = WebhookID.random()
            let first = try await create(id)
            #expect(try await create(id) == first)
            await #expect(throws: Failure.self) { try await create(.random()) }
            #expect(try await database.number("SELECT count(*) FROM webhooks.hook") == 1)
        }
    }
}
