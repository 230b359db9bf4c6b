// SPDX-License-Identifier: Apache-2.0
import Postgres

/// The functions of schema `conversations` (Shared/Schema) that these calls use; the meaning of arguments and columns stands there.
extension Statement {
    /// $1 id. Whether no conversation has it.
    static let conversationIsFree = Statement(
        "conversation.is_free", sql: "SELECT NOT EXISTS (SELECT FROM conversations.conversation WHERE id = $1) AS answer", isIdempotent: true)
    /// $1 id, $2 user. Whether this user takes part in it.
    static let conversationHas = Statement(
        "conversation.has",
        sql: """
            SELECT EXISTS (
                SELECT FROM conversations.participant WHERE conversation_id = $1 AND user_id = $2 AND left_position IS NULL) AS answer
            """, isIdempotent: true)
    static let conversationGet = Statement(
        "conversation.get", sql: "SELECT * FROM conversations.get_conversation($1, $2, $3)", isIdempotent: true)
    static let conversationList = Statement(
        "conversation.list",
        sql: "SELECT r.outcome, r.total, r.later, (r.view).* FROM conversations.list_conversations_page($1, $2, $3, $4, $5, $6) r",
        isIdempotent: true)
    static let conversationLoad = Statement(
        "conversation.load",
        sql: """
            SELECT r.outcome, r.total, r.is_cut, (r.view).*, \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            FROM conversations.load_conversations($1, $2, $3, $4, $5, $6, $7, $8) r
            """, isIdempotent: true)
    static let conversationsGet = Statement(
        "conversation.get_many", sql: "SELECT r.covered, (r.view).* FROM conversations.views_of($1, $2, $3::uuid[], $4) r", isIdempotent: true)
    static let messageGet = Statement(
        "message.get", sql: "SELECT * FROM conversations.get_message($1, $2, $3)", isIdempotent: true)
    static let messageList = Statement(
        "message.list",
        sql: "SELECT r.outcome, r.total, r.last_id, (r.message).* FROM conversations.list_messages_page($1, $2, $3, $4, $5, $6) r",
        isIdempotent: true)
    static let messagesLocate = Statement(
        "message.locate", sql: "SELECT * FROM conversations.locate_messages($1, $2::text[], $3::uuid[])", isIdempotent: true)
    /// $1 app, $2 user, $3 conversation, $4 messages. Those of them that the user sees in the conversation.
    static let messagesSeen = Statement(
        "message.seen",
        sql: """
            SELECT u.id FROM conversations.participant p
            JOIN conversations.conversation c ON c.id = p.conversation_id AND c.app_id = $1 AND c.deleted_position IS NULL
            CROSS JOIN unnest($4::uuid[]) u(id)
            CROSS JOIN LATERAL (
                SELECT x.ordinal FROM conversations.message_place x WHERE x.message_id = u.id AND x.conversation_id = $3 OFFSET 0) l
            CROSS JOIN LATERAL (
                SELECT FROM conversations.message m WHERE m.conversation_id = $3 AND m.ordinal = l.ordinal OFFSET 0) m
            WHERE p.conversation_id = $3 AND p.user_id = $2 AND conversations.may_see(p, l.ordinal)
            """, isIdempotent: true)
    static let receiptsGive = Statement(
        "receipt.give",
        sql: """
            SELECT r.results, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses, r.senders, r.audiences,
                r.number_users, r.number_uncounted, r.number_hidden
            FROM conversations.give_receipts($1, $2, $3::text[], $4::uuid[], $5::int8[], $6, NULL, NULL) r
            """, isIdempotent: true)
    static let baseline = Statement("sync.baseline", sql: "SELECT * FROM conversations.baseline($1, $2, $3)", isIdempotent: true)
    /// The epoch is asked for on the same connection, after the rest was read: it is that of the database that was read, whatever takes its place.
    static let replayBaseline = Statement(
        "sync.replay_baseline",
        sql: """
            SELECT b.*, e.epoch, e.is_certain FROM conversations.baseline($1, $2, $3) b
            LEFT JOIN LATERAL conversations.check_replay($3, $4::text, $5::int8) e ON b.conversation_id IS NULL
            """, isIdempotent: true)
    /// Since some time ago, whatever the clocks of gateways show: $3 in microseconds. Not before $4, unless the clock was set back since then.
    static let recentBaseline = Statement(
        "sync.recent_baseline",
        sql: """
            SELECT b.* FROM (SELECT statement_timestamp() AS now, statement_timestamp() - $3::int8 * interval '1 microsecond' AS recent) t
            CROSS JOIN LATERAL conversations.baseline($1, $2, CASE WHEN $4::timestamptz <= t.now THEN greatest($4, t.recent) ELSE t.recent END) b
            """, isIdempotent: true)
    static let readLogs = Statement(
        "sync.read_logs", sql: "SELECT * FROM conversations.read_logs($1, $2, $3::uuid[], $4::int8[], $5, $6, $7)", isIdempotent: true)
    static let readChanges = Statement(
        "sync.read_changes", sql: "SELECT * FROM conversations.read_changes($1, $2, $3, $4::text[], $5)", isIdempotent: true)
    /// $1 since when, of which the last two minutes count: only the log's recent rows are read, not its history. One about a time that has not come yet, as after
    /// the clock was set back, is one about now.
    static let heads = Statement(
        "sync.heads",
        sql: """
            SELECT h.* FROM conversations.heads(CASE WHEN $1::timestamptz IS NOT NULL
                THEN least(greatest($1, statement_timestamp() - interval '2 minutes'), statement_timestamp()) END) h
            """, isIdempotent: true)
}
