// SPDX-License-Identifier: Apache-2.0
import Mutations
import Postgres
import StrataModel

/// Creates a conversation, or finds an existing distinct one.
struct CreateConversation: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let participants: [String]
    let isDistinct: Bool
    let metadataPaths: [String]?
    let metadataValues: [String]?
    let participantsLimit: Int
    let origin: Change.Origin?
    let receiptPolicy: Int64
    /// True if the app's limits on adding users apply.
    let isLimited: Bool

    typealias Columns = ConversationCreateColumns

    static let statement = WriteStatement(
        "conversation.create",
        columns: "r.outcome, r.created_at AS changed_at, r.user_position, r.user_created_at, (r.view).*",
        function: "conversations.create_conversation",
        arguments: ["$1", "$2", "$3", "$4::text[]", "$5", "$6::text[]", "$7::text[]", "$8", "$9", "$10", "$11", "$12"],
        place: WriteStatement.RecordExpressions(
            conversation: "(r.view).conversation_id", position: "(r.view).position", userPosition: "r.user_position",
            object: "(r.view).conversation_id"),
        // A found conversation has no change for webhooks to report.
        recorded: WriteStatement.Recorded(position: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .textArray(participants),
            .bool(isDistinct),
            Value(metadataPaths), Value(metadataValues), .int8(Int64(participantsLimit)),
            Value(origin?.connection), Value(origin?.request), .int8(receiptPolicy), .bool(isLimited),
        ]
    }
}

/// Changes participants, and optionally metadata.
struct PatchConversation: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let participants: String
    let participantsLimit: Int
    let metadata: String?
    let origin: Change.Origin?
    let maxKeys: Int?
    let maxBytes: Int?
    /// True if the app's limits on adding users apply.
    let isLimited: Bool

    typealias Columns = ConversationPatchColumns

    static let statement = WriteStatement(
        "conversation.patch",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.added, r.removed, r.distinct_cleared, r.participants,
            r.conversation_created_at, r.receipt_policy, r.metadata_position, r.metadata_created_at, r.effects, r.number_users, r.number_uncounted,
            r.number_hidden
            """,
        function: "conversations.patch_participants", arguments: (1...11).map { "$\($0)" },
        // Users who remove themselves see that change and no later one.
        place: WriteStatement.RecordExpressions(
            conversation: "$3",
            position:
                "CASE WHEN $2 = ANY (r.removed) THEN r.position ELSE greatest(r.position, r.metadata_position) END"),
        recorded: WriteStatement.Recorded(
            first: "least(r.position, r.metadata_position)", last: "greatest(r.position, r.metadata_position)"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .jsonb(participants),
            .int8(Int64(participantsLimit)), metadata.map { .jsonb($0) } ?? .null, Value(origin?.connection),
            Value(origin?.request),
            Value(maxKeys), Value(maxBytes), .bool(isLimited),
        ]
    }
}

/// Deletes a conversation for all, or for one user.
struct DeleteConversation: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let mode: DeletionMode
    let leaves: Bool
    let origin: Change.Origin?
    let upTo: Int64?

    typealias Columns = ConversationDeleteColumns

    static let statement = WriteStatement(
        "conversation.delete",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.user_position, r.user_created_at, r.up_to, r.distinct_cleared,
            r.is_partial, r.former_users, r.former_positions, r.former_times
            """,
        function: "conversations.delete_conversation", arguments: (1...8).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(
            conversation: "$3", position: "r.position", userPosition: "r.user_position"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .text(mode.rawValue), .bool(leaves),
            Value(origin?.connection), Value(origin?.request), Value(upTo),
        ]
    }
}

/// Marks all messages of a conversation as read.
struct MarkAllRead: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let upTo: Int64?
    let audienceLimit: Int
    let origin: Change.Origin?

    typealias Columns = MarkAllReadColumns

    static let statement = WriteStatement(
        "conversation.mark_all_read",
        columns:
            "r.outcome, r.position, r.created_at, r.message_count, r.up_to, r.uncounted, r.hidden, r.told, r.receipts",
        function: "conversations.mark_all_read", arguments: (1...7).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(conversation.rawValue), Value(upTo),
            .int8(Int64(audienceLimit)),
            Value(origin?.connection), Value(origin?.request),
        ]
    }
}

struct SendMessage: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let message: MessageID
    let parts: [UInt8]
    let notification: String?
    let origin: Change.Origin?
    let contents: [ContentID]?
    /// True if the statement may wait for another transaction that uses the message id.
    var mayWaitForID: Bool

    typealias Columns = MessageSendColumns

    fileprivate static let columns = """
        r.outcome, r.position, r.created_at, r.ordinal, r.recipients, r.uncounted, r.hidden, r.receipt_policy,
        r.bad_content, \(MessageColumns.selected(from: "r.message", prefix: "m_")), r.hidden_from, r.number_uncounted, r.number_hidden
        """

    static let statement = WriteStatement(
        "message.send", columns: columns, function: "conversations.send_message",
        arguments: (1...8).map { "$\($0)" } + ["$9::uuid[]", "$10"],
        place: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position", object: "$4"),
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .uuid(message.rawValue), .bytes(parts),
            Value(notification), Value(origin?.connection), Value(origin?.request), Value(contents?.map(\.rawValue)),
            .bool(mayWaitForID),
        ]
    }
}

/// Sends a message for the app's own server. Clients' messages have a separate statement (``SendMessage``), because it
/// is the most frequent one.
struct SendServerMessage: WriteQuery {
    let message: SendMessage
    /// The name of a sender that is not a user.
    let senderName: String?

    typealias Columns = MessageSendColumns

    static let statement = WriteStatement(
        "message.send_by_server", columns: SendMessage.columns, function: "conversations.send_message",
        arguments: (1...8).map { "$\($0)" } + ["$9::uuid[]", "$10", "true", "$11"],
        place: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position", object: "$4"),
        isIdempotent: true)

    var parameters: [Value] { message.parameters + [Value(senderName)] }
}

/// Deletes a message for all, or for one user.
struct DeleteMessage: WriteQuery {
    let app: AppID
    let user: UserID
    let message: MessageID
    let mode: DeletionMode
    let origin: Change.Origin?
    /// The conversation that must contain the message. nil: any.
    var conversation: ConversationID?

    typealias Columns = MessageDeleteColumns

    static let statement = WriteStatement(
        "message.delete",
        columns: """
            r.outcome, r.conversation_id, r.position, r.created_at, r.message_count, r.ordinal, r.last_changed, r.number_users,
            r.number_uncounted, r.number_hidden, r.user_position, r.user_created_at, r.override_user, r.former_users, r.former_positions, r.former_times,
            r.hidden_from, \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.delete_message", arguments: (1...7).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(
            conversation: "r.conversation_id", position: "r.position", userPosition: "r.user_position"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(message.rawValue), .text(mode.rawValue),
            Value(origin?.connection), Value(origin?.request), Value(conversation?.rawValue),
        ]
    }
}

/// Changes parts of a message. The recorded object is the first part that it changes.
struct EditParts: WriteQuery {
    let app: AppID
    let user: UserID
    let message: MessageID
    let stored: [UInt8]
    let parts: [UInt8]
    let edits: String
    let time: PostgresTimestamp
    let contents: [ContentID]
    let origin: Change.Origin?

    typealias Columns = PartsEditColumns

    static let statement = WriteStatement(
        "message.edit_parts",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.bad_content, r.hidden_from,
            \(MessageColumns.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.edit_parts", arguments: (1...7).map { "$\($0)" } + ["$8::uuid[]", "$9", "$10"],
        place: WriteStatement.RecordExpressions(
            conversation: "(r.message).conversation_id", position: "r.position", object: "($6 -> 0 ->> 'part')::uuid"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(message.rawValue), .bytes(stored), .bytes(parts), .jsonb(edits),
            .timestamp(time), .uuidArray(contents.map(\.rawValue)), Value(origin?.connection), Value(origin?.request),
        ]
    }
}

/// Gives receipts of one user in one conversation.
struct GiveReceipts: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let messages: [MessageID]
    let status: Int64
    let audienceLimit: Int
    let origin: Change.Origin?

    typealias Columns = BulkReceiptColumns

    static let statement = WriteStatement(
        "receipt.give_many",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses, r.senders, r.audiences,
            r.number_users, r.number_uncounted, r.number_hidden, r.hidden_froms, r.ignored
            """,
        function: "conversations.give_receipts_of",
        arguments: ["$1", "$2", "$3", "$4::uuid[]"] + (5...8).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(conversation.rawValue),
            .uuidArray(messages.map(\.rawValue)),
            .int8(status), .int8(Int64(audienceLimit)), Value(origin?.connection), Value(origin?.request),
        ]
    }
}

/// Follows users. The rows after the first one are the new entries in the user's own log.
struct Follow: WriteQuery {
    let app: AppID
    let user: UserID
    let users: [UserID]
    /// The maximum number of followed users that the user has not met. nil: no limit.
    let limit: Int?

    typealias Columns = FollowColumns

    static let statement = WriteStatement(
        "follow.add", columns: "r.*", function: "conversations.follow_users_within",
        arguments: ["$1", "$2", "$3::text[]", "$4"],
        place: WriteStatement.RecordExpressions(),
        isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .text(user.rawValue), .textArray(users.map(\.rawValue)), Value(limit)]
    }
}

/// Stops following a user.
struct Unfollow: WriteQuery {
    let app: AppID
    let user: UserID
    let followed: String

    typealias Columns = UserEntryColumns

    static let statement = WriteStatement(
        "follow.end", columns: "r.*", function: "conversations.unfollow_user", arguments: ["$1", "$2", "$3"],
        place: WriteStatement.RecordExpressions(userPosition: "r.position"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(followed)] }
}

struct GiveAnnouncementReceipt: WriteQuery {
    let app: AppID
    let user: UserID
    let announcement: AnnouncementID
    let status: Int64

    typealias Columns = UserEntryColumns

    static let statement = WriteStatement(
        "announcement.receipt", columns: "r.*", function: "conversations.give_announcement_receipt",
        arguments: ["$1", "$2", "$3", "$4"],
        place: WriteStatement.RecordExpressions(userPosition: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .text(user.rawValue), .uuid(announcement.rawValue), .int8(status)]
    }
}

struct RemoveAnnouncement: WriteQuery {
    let app: AppID
    let user: UserID
    let announcement: AnnouncementID

    typealias Columns = UserEntryColumns

    static let statement = WriteStatement(
        "announcement.remove", columns: "r.*", function: "conversations.remove_announcement",
        arguments: ["$1", "$2", "$3"],
        place: WriteStatement.RecordExpressions(userPosition: "r.position"))

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .uuid(announcement.rawValue)] }
}

/// Stores a device's push token. It replaces the device's previous token.
struct SetPushToken: WriteQuery {
    let app: AppID
    let device: String
    let user: UserID
    let type: String
    let token: String
    let bundle: String?
    let sender: String?
    let version: String?
    /// The maximum number of the user's devices. nil: no limit.
    let limit: Int?

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "push_token.set", columns: "r AS outcome", function: "conversations.set_push_token",
        arguments: (1...9).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(outcome: "r"),
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(device), .text(user.rawValue), .text(type), .text(token), Value(bundle),
            Value(sender),
            Value(version), Value(limit),
        ]
    }
}

struct DeletePushToken: WriteQuery {
    let app: AppID
    let user: UserID
    let device: String

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "push_token.delete", columns: "r AS outcome", function: "conversations.delete_push_token",
        arguments: ["$1", "$2", "$3"],
        place: WriteStatement.RecordExpressions(outcome: "r"),
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(device)] }
}
