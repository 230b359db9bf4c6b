// SPDX-License-Identifier: Apache-2.0
import Postgres

/// The functions of schema `conversations` (Shared/Schema) that these calls use; the meaning of arguments and columns stands there.
extension Statement {
    static let conversationCreate = Statement(
        "conversation.create",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.user_position, r.user_created_at, (r.view).*
            FROM conversations.create_conversation($1, $2, $3, $4::text[], $5, $6::text[], $7::text[], $8, $9, $10, $11) r
            """, isIdempotent: true)
    /// $1 id. Whether no conversation has it.
    static let conversationIsFree = Statement(
        "conversation.is_free", sql: "SELECT NOT EXISTS (SELECT FROM conversations.conversation WHERE id = $1)", isIdempotent: true)
    /// $1 id, $2 user. Whether this user takes part in it.
    static let conversationHas = Statement(
        "conversation.has",
        sql: """
            SELECT EXISTS (
                SELECT FROM conversations.participant WHERE conversation_id = $1 AND user_id = $2 AND left_position IS NULL)
            """, isIdempotent: true)
    static let conversationGet = Statement(
        "conversation.get", sql: "SELECT * FROM conversations.get_conversation($1, $2, $3)", isIdempotent: true)
    static let conversationList = Statement(
        "conversation.list",
        sql: "SELECT r.outcome, r.total, r.later, (r.view).* FROM conversations.list_conversations_within($1, $2, $3, $4, $5, $6) r",
        isIdempotent: true)
    static let conversationsGet = Statement(
        "conversation.get_many", sql: "SELECT r.covered, (r.view).* FROM conversations.views_of($1, $2, $3::uuid[], $4) r", isIdempotent: true)
    static let conversationPatch = Statement(
        "conversation.patch",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.message_count, r.added, r.removed, r.distinct_cleared, r.participants,
                r.conversation_created_at, r.receipt_policy, r.metadata_position, r.metadata_created_at, r.effects, r.number_users, r.number_uncounted,
                r.number_hidden
            FROM conversations.patch_participants($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) r
            """)
    static let conversationDelete = Statement(
        "conversation.delete",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.message_count, r.user_position, r.user_created_at, r.up_to, r.distinct_cleared,
                r.participants, r.uncounted, r.hidden
            FROM conversations.delete_conversation($1, $2, $3, $4, $5, $6, $7) r
            """)
    static let conversationMarkAllRead = Statement(
        "conversation.mark_all_read",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.message_count, r.up_to, r.uncounted, r.hidden, r.told
            FROM conversations.mark_all_read($1, $2, $3, $4, $5, $6, $7) r
            """, isIdempotent: true)
    static let messageSend = Statement(
        "message.send",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.ordinal, r.recipients, r.uncounted, r.hidden, r.receipt_policy,
                r.bad_content, (r.message).*
            FROM conversations.send_message($1, $2, $3, $4, $5, $6, $7, $8, $9::uuid[], $10) r
            """, isIdempotent: true)
    static let messageGet = Statement(
        "message.get", sql: "SELECT * FROM conversations.get_message($1, $2, $3)", isIdempotent: true)
    static let messageList = Statement(
        "message.list",
        sql: "SELECT r.outcome, r.total, (r.message).* FROM conversations.list_messages($1, $2, $3, $4, $5, $6) r", isIdempotent: true)
    static let messageDelete = Statement(
        "message.delete",
        sql: """
            SELECT r.outcome, r.conversation_id, r.position, r.created_at, r.message_count, r.ordinal, r.last_changed, r.number_users,
                r.number_uncounted, r.number_hidden, r.user_position, r.user_created_at, r.override_user, (r.message).*
            FROM conversations.delete_message($1, $2, $3, $4, $5, $6) r
            """)
    static let messagesLocate = Statement(
        "message.locate", sql: "SELECT * FROM conversations.locate_messages($1, $2::text[], $3::uuid[])", isIdempotent: true)
    static let partsEdit = Statement(
        "message.edit_parts",
        sql: """
            SELECT r.outcome, r.position, r.created_at, r.message_count, r.bad_content, (r.message).*
            FROM conversations.edit_parts($1, $2, $3, $4, $5, $6, $7, $8::uuid[], $9, $10) r
            """)
    static let receiptsGive = Statement(
        "receipt.give",
        sql: """
            SELECT r.results, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses, r.senders, r.audiences,
                r.number_users, r.number_uncounted, r.number_hidden
            FROM conversations.give_receipts($1, $2, $3::text[], $4::uuid[], $5::int8[], $6, NULL, NULL) r
            """, isIdempotent: true)
    static let baseline = Statement("sync.baseline", sql: "SELECT * FROM conversations.baseline($1, $2, $3)", isIdempotent: true)
    static let readLogs = Statement(
        "sync.read_logs", sql: "SELECT * FROM conversations.read_logs($1, $2, $3::uuid[], $4::int8[], $5, $6, $7)", isIdempotent: true)
    static let readChanges = Statement(
        "sync.read_changes", sql: "SELECT * FROM conversations.read_changes($1, $2, $3, $4::text[], $5)", isIdempotent: true)
    static let heads = Statement("sync.heads", sql: "SELECT * FROM conversations.heads($1)", isIdempotent: true)
}
