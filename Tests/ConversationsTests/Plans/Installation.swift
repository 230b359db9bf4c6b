// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// A bulk-loaded installation with many rows in every table, nearly none of which belong to the user who asks.
struct Installation {
    let app: AppID
    /// A conversation of ana and ben with a long history. Both have read all but the last messages.
    let long: ConversationID

    static let conversations = 6000
    static let users = 800
    /// The number of messages in ``long``.
    static let messages = 6000

    var script: String {
        """
        CREATE TEMPORARY TABLE load ON COMMIT DROP AS
        SELECT n, gen_random_uuid() AS id, 'user' || n % \(Self.users) AS a, 'user' || (n * 7 + 1) % \(Self.users) AS b,
            now() - interval '9 days' + n * interval '2 minutes' AS starts
        FROM generate_series(1, \(Self.conversations)) n;
        INSERT INTO conversations.identity (app_id, user_id) SELECT '\(app)', 'user' || n FROM generate_series(0, \(Self.users - 1)) n;
        INSERT INTO conversations.app (id, name, provider_id)
        SELECT CASE n WHEN 1 THEN '\(app)'::uuid ELSE gen_random_uuid() END, 'app', gen_random_uuid() FROM generate_series(1, 300) n
        ON CONFLICT DO NOTHING;
        INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
        VALUES (decode(repeat('01', 32), 'hex'), '\(app)', 'user1', now() + interval '9 days');
        INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
        SELECT sha256(n::text::bytea), '\(app)', 'user' || n % \(Self.users), now() + interval '9 days' FROM generate_series(1, 6000) n;
        INSERT INTO conversations.conversation (
            id, app_id, created_at, created_by, is_distinct, position, last_change_at, message_count, last_ordinal)
        SELECT l.id, '\(app)', l.starts, l.a, false, 8, l.starts + interval '7 minutes', 4, 4 FROM load l;
        INSERT INTO conversations.roster (conversation_id, user_ids) SELECT l.id, ARRAY[l.a, l.b] FROM load l;
        INSERT INTO conversations.participant (conversation_id, user_id, app_id, first_joined, joined, uncounted, hidden_count)
        SELECT l.id, u, '\(app)', 1, 1, 0, 0 FROM load l, unnest(ARRAY[l.a, l.b]) u ON CONFLICT DO NOTHING;
        INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
        SELECT '\(app)', u, l.id, l.starts FROM load l, unnest(ARRAY[l.a, l.b]) u ON CONFLICT DO NOTHING;
        INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts)
        SELECT l.id, m, gen_random_uuid(), 1 + m, l.a, l.starts + m * interval '1 minute', '' FROM load l, generate_series(1, 4) m;
        INSERT INTO conversations.change (conversation_id, position, kind, actor, ordinal, message_count, operations, created_at)
        SELECT l.id, p, CASE p WHEN 1 THEN 1 ELSE 7 END, l.a, NULL, 4, CASE p WHEN 1 THEN '{"participants":[]}' ELSE '[]' END::jsonb,
            l.starts + (p - 1) * interval '1 minute'
        FROM load l, generate_series(1, 8) p;
        INSERT INTO metadata.leaf (conversation_id, path, value, position) SELECT l.id, 'key' || k, 'value', 1 FROM load l, generate_series(1, 3) k;
        INSERT INTO conversations.content_reference (content_id, conversation_id, ordinal) SELECT gen_random_uuid(), l.id, 1 FROM load l;
        INSERT INTO conversations.user_log (app_id, user_id, position, last_change_at)
        SELECT '\(app)', 'user' || n, 20, now() - interval '1 day' FROM generate_series(0, \(Self.users - 1)) n;
        INSERT INTO conversations.user_change (app_id, user_id, position, kind, operations, created_at)
        SELECT '\(app)', 'user' || n, p, 5, '{"user":"somebody"}', now() - interval '3 days' + p * interval '1 hour'
        FROM generate_series(0, \(Self.users - 1)) n, generate_series(1, 20) p;
        INSERT INTO conversations.follow (app_id, user_id, followed, is_followed)
        SELECT '\(app)', 'user' || n, 'user' || (n + f) % \(Self.users), f < 9 FROM generate_series(0, \(Self.users - 1)) n, generate_series(1, 10) f;
        INSERT INTO conversations.announcement_recipient (app_id, user_id, announcement_id, position)
        SELECT '\(app)', 'user' || n, gen_random_uuid(), p FROM generate_series(0, \(Self.users - 1)) n, generate_series(1, 10) p;
        INSERT INTO conversations.erasure (app_id, user_id, requested_at, not_before)
        SELECT '\(app)', 'user' || n, now(), now() + interval '1 hour' FROM generate_series(0, \(Self.users - 1)) n;
        \(history)
        INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
        SELECT m.id, '\(app)', m.conversation_id, m.ordinal FROM conversations.message m ON CONFLICT DO NOTHING;
        """
    }

    private var history: String {
        let count = Self.messages
        return """
            INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts)
            SELECT '\(long)', c.message_count + m, gen_random_uuid(), c.position + m, 'ben',
                now() - interval '9 days' + m * interval '2 minutes', ''
            FROM conversations.conversation c, generate_series(1, \(count)) m WHERE c.id = '\(long)';
            INSERT INTO conversations.change (conversation_id, position, kind, actor, message_id, ordinal, message_count, created_at)
            SELECT m.conversation_id, m.position, 5, m.sender, m.id, m.ordinal, m.ordinal, m.sent_at
            FROM conversations.message m WHERE m.conversation_id = '\(long)' AND NOT EXISTS (
                SELECT FROM conversations.change h WHERE h.conversation_id = '\(long)' AND h.position = m.position);
            UPDATE conversations.conversation SET
                position = position + \(count), message_count = message_count + \(count), last_ordinal = last_ordinal + \(count),
                last_change_at = now() - interval '9 days' + \(count) * interval '2 minutes'
            WHERE id = '\(long)';
            UPDATE conversations.participant p SET read = int8multirange(int8range(1, c.message_count - 2)), uncounted = c.message_count - 3
            FROM conversations.conversation c WHERE c.id = '\(long)' AND p.conversation_id = c.id;
            """
    }
}
