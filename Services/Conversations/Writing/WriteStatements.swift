// SPDX-License-Identifier: Apache-2.0
import Mutations

/// The writing functions of schema `conversations` (Shared/Schema); the meaning of arguments and columns stands there.
extension WriteStatement {
    static let conversationCreate = WriteStatement(
        "conversation.create", columns: "r.outcome, r.created_at AS changed_at, r.user_position, r.user_created_at, (r.view).*",
        function: "conversations.create_conversation",
        arguments: ["$1", "$2", "$3", "$4::text[]", "$5", "$6::text[]", "$7::text[]", "$8", "$9", "$10", "$11"],
        place: Place(
            conversation: "(r.view).conversation_id", position: "(r.view).position", userPosition: "r.user_position",
            object: "(r.view).conversation_id"), isIdempotent: true)
    static let conversationPatch = WriteStatement(
        "conversation.patch",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.added, r.removed, r.distinct_cleared, r.participants,
            r.conversation_created_at, r.receipt_policy, r.metadata_position, r.metadata_created_at, r.effects, r.number_users, r.number_uncounted,
            r.number_hidden
            """,
        function: "conversations.patch_participants", arguments: (1...10).map { "$\($0)" },
        // Those who remove themselves are told of that, and not of what comes after it.
        place: Place(
            conversation: "$3", position: "CASE WHEN $2 = ANY (r.removed) THEN r.position ELSE greatest(r.position, r.metadata_position) END"))
    static let conversationDelete = WriteStatement(
        "conversation.delete",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.user_position, r.user_created_at, r.up_to, r.distinct_cleared,
            r.is_partial, r.former_users, r.former_positions, r.former_times
            """,
        function: "conversations.delete_conversation", arguments: (1...8).map { "$\($0)" },
        place: Place(conversation: "$3", position: "r.position", userPosition: "r.user_position"))
    static let conversationMarkAllRead = WriteStatement(
        "conversation.mark_all_read", columns: "r.outcome, r.position, r.created_at, r.message_count, r.up_to, r.uncounted, r.hidden, r.told",
        function: "conversations.mark_all_read", arguments: (1...7).map { "$\($0)" },
        place: Place(conversation: "$3", position: "r.position"), isIdempotent: true)
    static let messageSend = WriteStatement(
        "message.send",
        columns: """
            r.outcome, r.position, r.created_at, r.ordinal, r.recipients, r.uncounted, r.hidden, r.receipt_policy,
            r.bad_content, \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.send_message", arguments: (1...8).map { "$\($0)" } + ["$9::uuid[]", "$10"],
        place: Place(conversation: "$3", position: "r.position", object: "$4"), isIdempotent: true)
    static let messageDelete = WriteStatement(
        "message.delete",
        columns: """
            r.outcome, r.conversation_id, r.position, r.created_at, r.message_count, r.ordinal, r.last_changed, r.number_users,
            r.number_uncounted, r.number_hidden, r.user_position, r.user_created_at, r.override_user, r.former_users, r.former_positions, r.former_times,
            \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.delete_message", arguments: (1...6).map { "$\($0)" },
        place: Place(conversation: "r.conversation_id", position: "r.position", userPosition: "r.user_position"))
    /// What it makes is the first part that it changes.
    static let partsEdit = WriteStatement(
        "message.edit_parts",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.bad_content, \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.edit_parts", arguments: (1...7).map { "$\($0)" } + ["$8::uuid[]", "$9", "$10"],
        place: Place(conversation: "(r.message).conversation_id", position: "r.position", object: "($6 -> 0 ->> 'part')::uuid"))
    static let receiptsGive = WriteStatement(
        "receipt.give_many",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses, r.senders, r.audiences,
            r.number_users, r.number_uncounted, r.number_hidden, r.ignored
            """,
        function: "conversations.give_receipts_of", arguments: ["$1", "$2", "$3", "$4::uuid[]"] + (5...8).map { "$\($0)" },
        place: Place(conversation: "$3", position: "r.position"), isIdempotent: true)
    /// $1 app, $2 user, $3 whom, $4 how many at most. The rows after the first one are what the user's own log tells.
    static let follow = WriteStatement(
        "follow.add", columns: "r.*", function: "conversations.follow_users_within", arguments: ["$1", "$2", "$3::text[]", "$4"], place: Place(),
        isIdempotent: true)
    static let unfollow = WriteStatement(
        "follow.end", columns: "r.*", function: "conversations.unfollow_user", arguments: ["$1", "$2", "$3"],
        place: Place(userPosition: "r.position"), isIdempotent: true)
    static let announcementReceipt = WriteStatement(
        "announcement.receipt", columns: "r.*", function: "conversations.give_announcement_receipt", arguments: ["$1", "$2", "$3", "$4"],
        place: Place(userPosition: "r.position"), isIdempotent: true)
    static let announcementRemove = WriteStatement(
        "announcement.remove", columns: "r.*", function: "conversations.remove_announcement", arguments: ["$1", "$2", "$3"],
        place: Place(userPosition: "r.position"))
    /// $1 app, $2 device, $3 user, $4 type, $5 token, $6 bundle, $7 sender, $8 version, $9 how many at most. The newest one of a device replaces what was
    /// there.
    static let pushTokenSet = WriteStatement(
        "push_token.set", columns: "r AS outcome", function: "conversations.set_push_token", arguments: (1...9).map { "$\($0)" },
        place: Place(outcome: "r"),
        isIdempotent: true)
    /// $1 app, $2 user, $3 device.
    static let pushTokenDelete = WriteStatement(
        "push_token.delete", columns: "r AS outcome", function: "conversations.delete_push_token", arguments: ["$1", "$2", "$3"],
        place: Place(outcome: "r"),
        isIdempotent: true)
}
