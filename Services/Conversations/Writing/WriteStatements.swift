// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
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

    static let statement = WriteStatement(
        "conversation.create",
        columns: "r.outcome, r.created_at AS changed_at, r.user_position, r.user_created_at, (r.view).*",
        function: "conversations.create_conversation",
        arguments: ["$1", "$2", "$3", "$4::text[]", "$5", "$6::text[]", "$7::text[]", "$8", "$9", "$10", "$11", "$12"],
        record: WriteStatement.RecordExpressions(
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

    struct Row: Decodable {
        let outcome: String
        let changedAt: StrataModel.Timestamp?
        /// The entry in the user's own log, if a hidden conversation is shown again.
        let shown: LogPlace?
        let view: ViewRow?

        enum CodingKeys: String, CodingKey { case outcome, changedAt, shown = "user_", view }
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

    static let statement = WriteStatement(
        "conversation.patch",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.added, r.removed, r.distinct_cleared,
            r.participants, r.conversation_created_at, r.receipt_policy, r.metadata_position, r.metadata_created_at,
            r.effects, r.number_users, r.number_uncounted, r.number_hidden
            """,
        function: "conversations.patch_participants", arguments: (1...11).map { "$\($0)" },
        // Users who remove themselves see that change and no later one.
        record: WriteStatement.RecordExpressions(
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

    struct Row: Decodable {
        let outcome: String
        /// The change of the participants.
        let place: LogPlace?
        let messageCount: Int64?
        let added: [UserID]?
        let removed: [UserID]?
        let distinctCleared: Bool?
        let participants: [UserID]?
        let conversationCreatedAt: StrataModel.Timestamp?
        let receiptPolicy: ReceiptPolicy?
        /// The change of the metadata.
        let metadataPlace: LogPlace?
        let effects: String?
        let counts: ChangedCounts

        enum CodingKeys: String, CodingKey {
            case outcome, place, messageCount, added, removed, distinctCleared, participants, conversationCreatedAt
            case receiptPolicy, effects, counts
            case metadataPlace = "metadata_"
        }
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

    static let statement = WriteStatement(
        "conversation.delete",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.user_position, r.user_created_at, r.up_to,
            r.distinct_cleared, r.is_partial, r.former_users, r.former_positions, r.former_times
            """,
        function: "conversations.delete_conversation", arguments: (1...8).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(
            conversation: "$3", position: "r.position", userPosition: "r.user_position"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .text(mode.rawValue), .bool(leaves),
            Value(origin?.connection), Value(origin?.request), Value(upTo),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let place: LogPlace?
        let messageCount: Int64?
        /// The entry in the user's own log.
        let userPlace: LogPlace?
        let upTo: Position?
        let distinctCleared: Bool?
        let isPartial: Bool?
        let former: FormerParticipants

        enum CodingKeys: String, CodingKey {
            case outcome, place, messageCount, userPlace = "user_", upTo, distinctCleared, isPartial, former
        }
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

    static let statement = WriteStatement(
        "conversation.mark_all_read",
        columns:
            "r.outcome, r.position, r.created_at, r.message_count, r.up_to, r.uncounted, r.hidden, r.told, r.receipts",
        function: "conversations.mark_all_read", arguments: (1...7).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(conversation.rawValue), Value(upTo),
            .int8(Int64(audienceLimit)),
            Value(origin?.connection), Value(origin?.request),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let upTo: Position?
        let change: Change?

        struct Change: Decodable {
            let place: LogPlace
            let messageCount: Int64
            let uncounted: Int64
            let hidden: Int64
            let told: [UserID]?
            /// The receipts as JSON, if a block hides a message from the user.
            let receipts: String?
        }
    }
}

/// Sends a message without content, in a transaction shared with other statements. Outcome `busy_id`: another
/// transaction is using the id; ``SendMessageAlone`` waits for it.
struct SendMessage: WriteQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let message: MessageID
    let parts: [UInt8]
    let notification: String?
    let origin: Change.Origin?

    fileprivate static let columns = """
        r.outcome, r.position, r.created_at, r.ordinal, r.recipients, r.uncounted, r.hidden, r.receipt_policy,
        r.bad_content, \(MessageRow.selected(from: "r.message", prefix: "m_")), r.hidden_from,
        r.number_uncounted, r.number_hidden
        """
    fileprivate static let record = WriteStatement.RecordExpressions(
        conversation: "$3", position: "r.position", object: "$4")

    static let statement = WriteStatement(
        "message.send", columns: columns, function: "conversations.send_message",
        arguments: (1...8).map { "$\($0)" } + ["NULL", "false"], record: record, isIdempotent: true,
        // A batch of 6 costs PostgreSQL as much time as 6 statements; one of 8 costs 0.75 of it, one of 32 less than
        // half.
        batch: WriteStatement.Batch(
            function: "conversations.send_messages",
            elements: [.uuid, .text, .uuid, .uuid, .bytes, .text, .int8, .int8], minimum: 8))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .uuid(message.rawValue), .bytes(parts),
            Value(notification), Value(origin?.connection), Value(origin?.request),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let sent: SentMessage?
        let badContent: ContentID?
        /// The message that has the id.
        let message: MessageRow?

        enum CodingKeys: String, CodingKey { case outcome, sent, badContent, message = "m_" }
    }
}

/// Sends a message in a transaction of its own, which may wait for the content's rows and for the id.
struct SendMessageAlone: WriteQuery {
    let message: SendMessage
    let contents: [ContentID]?

    typealias Row = SendMessage.Row

    static let statement = WriteStatement(
        "message.send_alone", columns: SendMessage.columns, function: "conversations.send_message",
        arguments: (1...8).map { "$\($0)" } + ["$9::uuid[]", "true"], record: SendMessage.record, isIdempotent: true)

    var parameters: [Value] { message.parameters + [Value(contents?.map(\.rawValue))] }
}

/// The columns of a sent message.
struct SentMessage: Decodable {
    let place: LogPlace
    let ordinal: Int64
    private let recipients: [UserID]
    private let uncounted: Int64?
    private let hidden: Int64?
    let receiptPolicy: ReceiptPolicy
    private let hiddenFrom: HiddenFrom?

    func recipients(from sender: UserID?) -> [StrataModel.Message.Recipient] {
        recipients.map { StrataModel.Message.Recipient(userID: $0, status: $0 == sender ? .read : .sent) }
    }

    /// Returns the users from whom a block hides the message, and the changed counts: theirs, and those of a sender who
    /// is a participant.
    func effects(on sender: UserID?) throws(PostgresError) -> (hiddenFrom: [UserID], counts: [UserID: UserCounts]) {
        let kept = try hiddenFrom?.counts(at: place.position) ?? []
        var counts = Dictionary(kept.map { ($0.user, $0.counts) }) { first, _ in first }
        if let sender, let uncounted {
            counts[sender] = UserCounts(excluded: uncounted, hidden: hidden ?? 0, position: place.position)
        }
        return (kept.map(\.user), counts)
    }
}

/// Sends a message for the app's own server. Clients' messages have a separate statement (``SendMessage``), because it
/// is the most frequent one.
struct SendServerMessage: WriteQuery {
    let message: SendMessage
    let contents: [ContentID]?
    /// The name of a sender that is not a user.
    let senderName: String?

    typealias Row = SendMessage.Row

    static let statement = WriteStatement(
        "message.send_by_server", columns: SendMessage.columns, function: "conversations.send_message",
        arguments: (1...8).map { "$\($0)" } + ["$9::uuid[]", "true", "true", "$10"], record: SendMessage.record,
        isIdempotent: true)

    var parameters: [Value] { message.parameters + [Value(contents?.map(\.rawValue)), Value(senderName)] }
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

    static let statement = WriteStatement(
        "message.delete",
        columns: """
            r.outcome, r.conversation_id, r.position, r.created_at, r.message_count, r.ordinal, r.last_changed,
            r.number_users, r.number_uncounted, r.number_hidden, r.user_position, r.user_created_at, r.override_user,
            r.former_users, r.former_positions, r.former_times, r.hidden_from,
            \(MessageRow.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.delete_message", arguments: (1...7).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(
            conversation: "r.conversation_id", position: "r.position", userPosition: "r.user_position"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(message.rawValue), .text(mode.rawValue),
            Value(origin?.connection), Value(origin?.request), Value(conversation?.rawValue),
        ]
    }

    struct Row: Decodable {
        /// The outcome and the deletion, in the first row.
        let outcome: String?
        let conversationID: ConversationID?
        let place: LogPlace?
        let messageCount: Int64?
        let ordinal: Int64?
        let lastChanged: Bool?
        let counts: ChangedCounts
        /// The entry in the user's own log.
        let userPlace: LogPlace?
        /// A user who sees another last message than the others, in each other row.
        let overrideUser: UserID?
        let former: FormerParticipants
        let hiddenFrom: [UserID]?
        let message: MessageRow?

        enum CodingKeys: String, CodingKey {
            case outcome, conversationID, place, messageCount, ordinal, lastChanged, counts, overrideUser, former
            case hiddenFrom
            case userPlace = "user_"
            case message = "m_"
        }
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

    static let statement = WriteStatement(
        "message.edit_parts",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.bad_content, r.hidden_from,
            \(MessageRow.selected(from: "r.message", prefix: "m_"))
            """,
        function: "conversations.edit_parts", arguments: (1...7).map { "$\($0)" } + ["$8::uuid[]", "$9", "$10"],
        record: WriteStatement.RecordExpressions(
            conversation: "(r.message).conversation_id", position: "r.position", object: "($6 -> 0 ->> 'part')::uuid"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(message.rawValue), .bytes(stored), .bytes(parts), .jsonb(edits),
            .timestamp(time), .uuidArray(contents.map(\.rawValue)), Value(origin?.connection), Value(origin?.request),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let place: LogPlace?
        let messageCount: Int64?
        let badContent: ContentID?
        let hiddenFrom: [UserID]?
        let message: MessageRow?

        enum CodingKeys: String, CodingKey {
            case outcome, place, messageCount, badContent, hiddenFrom, message = "m_"
        }
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

    static let statement = WriteStatement(
        "receipt.give_many",
        columns: """
            r.outcome, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses,
            r.senders, r.audiences, r.number_users, r.number_uncounted, r.number_hidden, r.hidden_froms, r.ignored
            """,
        function: "conversations.give_receipts_of",
        arguments: ["$1", "$2", "$3", "$4::uuid[]"] + (5...8).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(conversation: "$3", position: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(conversation.rawValue),
            .uuidArray(messages.map(\.rawValue)),
            .int8(status), .int8(Int64(audienceLimit)), Value(origin?.connection), Value(origin?.request),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        /// Messages that the user does not see in the conversation.
        let ignored: [MessageID]?
        let change: ReceiptChange?
    }
}

/// Follows users. The rows after the first one are the new entries in the user's own log.
struct Follow: WriteQuery {
    let app: AppID
    let user: UserID
    let users: [UserID]
    /// The maximum number of followed users that the user has not met. nil: no limit.
    let limit: Int?

    static let statement = WriteStatement(
        "follow.add", columns: "r.*", function: "conversations.follow_users_within",
        arguments: ["$1", "$2", "$3::text[]", "$4"],
        record: WriteStatement.RecordExpressions(),
        isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .text(user.rawValue), .textArray(users.map(\.rawValue)), Value(limit)]
    }

    struct Row: Decodable {
        /// The outcome, in the first row.
        let outcome: String?
        /// A new entry in the user's own log, in each other row.
        let entry: Entry?

        struct Entry: Decodable {
            let followed: UserID
            let place: LogPlace
        }
    }
}

/// Stops following a user.
struct Unfollow: WriteQuery {
    let app: AppID
    let user: UserID
    let followed: String

    typealias Row = UserEntryRow

    static let statement = WriteStatement(
        "follow.end", columns: "r.*", function: "conversations.unfollow_user", arguments: ["$1", "$2", "$3"],
        record: WriteStatement.RecordExpressions(userPosition: "r.position"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(followed)] }
}

struct GiveAnnouncementReceipt: WriteQuery {
    let app: AppID
    let user: UserID
    let announcement: AnnouncementID
    let status: Int64

    typealias Row = UserEntryRow

    static let statement = WriteStatement(
        "announcement.receipt", columns: "r.*", function: "conversations.give_announcement_receipt",
        arguments: ["$1", "$2", "$3", "$4"],
        record: WriteStatement.RecordExpressions(userPosition: "r.position"), isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .text(user.rawValue), .uuid(announcement.rawValue), .int8(status)]
    }
}

struct RemoveAnnouncement: WriteQuery {
    let app: AppID
    let user: UserID
    let announcement: AnnouncementID

    typealias Row = UserEntryRow

    static let statement = WriteStatement(
        "announcement.remove", columns: "r.*", function: "conversations.remove_announcement",
        arguments: ["$1", "$2", "$3"],
        record: WriteStatement.RecordExpressions(userPosition: "r.position"))

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

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "push_token.set", columns: "r AS outcome", function: "conversations.set_push_token",
        arguments: (1...9).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(outcome: "r"),
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

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "push_token.delete", columns: "r AS outcome", function: "conversations.delete_push_token",
        arguments: ["$1", "$2", "$3"],
        record: WriteStatement.RecordExpressions(outcome: "r"),
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(device)] }
}
