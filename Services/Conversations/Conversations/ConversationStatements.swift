// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

struct IsConversationFree: PostgresQuery {
    let conversation: ConversationID

    typealias Row = AnswerRow

    static let statement = Statement(
        "conversation.is_free",
        sql: "SELECT NOT EXISTS (SELECT FROM conversations.conversation WHERE id = $1) AS answer", isIdempotent: true)

    var parameters: [Value] { [.uuid(conversation.rawValue)] }
}

/// Tests if an app has a conversation that is not deleted.
struct IsConversation: PostgresQuery {
    let app: AppID
    let conversation: ConversationID

    typealias Row = AnswerRow

    static let statement = Statement(
        "conversation.exists",
        sql: """
            SELECT EXISTS (
                SELECT FROM conversations.conversation
                WHERE id = $2 AND app_id = $1 AND deleted_position IS NULL) AS answer
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(conversation.rawValue)] }
}

/// Finds the reason why the app's own server does not find a conversation.
struct FindAbsence: PostgresQuery {
    let app: AppID
    let conversation: ConversationID

    typealias Row = OutcomeRow

    static let statement = Statement(
        "conversation.absence", sql: "SELECT conversations.absence($1, $2) AS outcome", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(conversation.rawValue)] }
}

struct IsParticipant: PostgresQuery {
    let conversation: ConversationID
    let user: UserID

    typealias Row = AnswerRow

    static let statement = Statement(
        "conversation.has",
        sql: """
            SELECT EXISTS (
                SELECT FROM conversations.participant
                WHERE conversation_id = $1 AND user_id = $2 AND left_position IS NULL) AS answer
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(conversation.rawValue), .text(user.rawValue)] }
}

struct GetConversation: PostgresQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    /// True to read the metadata tree, too.
    let withTree: Bool

    static let statement = Statement(
        "conversation.get",
        sql: """
            SELECT *
            FROM conversations.get_conversation($1, $2, $3, CASE WHEN $4 THEN metadata.largest_tree() ELSE 0 END)
            """, isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .bool(withTree)]
    }

    struct Row: Decodable {
        let view: ViewRow?
    }
}

struct ListConversations: PostgresQuery {
    let app: AppID
    let user: UserID
    let byLastMessage: Bool
    let pageSize: Int64
    /// The last conversation of the previous page. nil: the first page.
    let from: ConversationID?
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    static let statement = Statement(
        "conversation.list",
        sql: """
            SELECT r.outcome, r.total, r.later, (r.view).*
            FROM conversations.list_conversations_page($1, $2, $3, $4, $5, $6) r
            """,
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .bool(byLastMessage), .int8(pageSize), Value(from?.rawValue),
            Value(maxBytes),
        ]
    }

    struct Row: Decodable {
        let outcome: String?
        let total: Int64?
        let later: ConversationID?
        let view: ViewRow?
    }
}

/// Lists one page of a user's conversations with their newest messages.
struct LoadConversations: PostgresQuery {
    let app: AppID
    let user: UserID
    let byLastMessage: Bool
    let pageSize: Int64
    /// The last conversation of the previous page. nil: the first page.
    let from: ConversationID?
    /// The maximum number of messages of each conversation. nil: the messages that the user has not read.
    let messages: Int64?
    let messagesLimit: Int64
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    static let statement = Statement(
        "conversation.load",
        sql: """
            SELECT r.outcome, r.total, r.is_cut, (r.view).*, \(MessageRow.selected(from: "r.message", prefix: "m_"))
            FROM conversations.load_conversations($1, $2, $3, $4, $5, $6, $7, $8) r
            """, isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .bool(byLastMessage), .int8(pageSize), Value(from?.rawValue),
            Value(messages),
            .int8(messagesLimit), Value(maxBytes),
        ]
    }

    struct Row: Decodable {
        let outcome: String?
        let total: Int64?
        let isCut: Bool?
        let view: ViewRow?
        let message: MessageRow?

        enum CodingKeys: String, CodingKey { case outcome, total, isCut, view, message = "m_" }
    }
}

/// Reads several conversations as one user sees them.
struct GetConversations: PostgresQuery {
    let app: AppID
    let user: UserID
    let conversations: [UUID]
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    static let statement = Statement(
        "conversation.get_many",
        sql: "SELECT r.covered, (r.view).* FROM conversations.views_of($1, $2, $3::uuid[], $4) r", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .actor(user), .uuidArray(conversations), Value(maxBytes)] }

    struct Row: Decodable {
        let covered: Int64?
        let view: ViewRow?
    }
}

struct GetMessage: PostgresQuery {
    let app: AppID
    let user: UserID
    let message: MessageID

    static let statement = Statement(
        "message.get", sql: "SELECT * FROM conversations.get_message($1, $2, $3)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .actor(user), .uuid(message.rawValue)] }

    struct Row: Decodable {
        let message: MessageRow?
    }
}

/// Lists one page of a conversation's messages, as one user sees them.
struct ListMessages: PostgresQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let pageSize: Int64
    /// The last message of the previous page. nil: the first page.
    let from: MessageID?
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    static let statement = Statement(
        "message.list",
        sql: """
            SELECT r.outcome, r.total, r.last_id, (r.message).*
            FROM conversations.list_messages_page($1, $2, $3, $4, $5, $6) r
            """,
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .actor(user), .uuid(conversation.rawValue), .int8(pageSize), Value(from?.rawValue),
            Value(maxBytes),
        ]
    }

    struct Row: Decodable {
        let outcome: String?
        let total: Int64?
        let lastID: MessageID?
        let message: MessageRow?
    }
}

/// Finds the conversations of messages that the users can see.
struct LocateMessages: PostgresQuery {
    let app: AppID
    let users: [String]
    let messages: [UUID]

    static let statement = Statement(
        "message.locate", sql: "SELECT * FROM conversations.locate_messages($1, $2::text[], $3::uuid[])",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .textArray(users), .uuidArray(messages)] }

    struct Row: Decodable {
        let number: Int
        let conversationID: ConversationID
    }
}

/// Finds the members of `messages` that the user can see in the conversation.
struct SeenMessages: PostgresQuery {
    let app: AppID
    let user: UserID
    let conversation: ConversationID
    let messages: [MessageID]

    static let statement = Statement(
        "message.seen",
        sql: """
            SELECT u.id FROM conversations.participant p
            JOIN conversations.conversation c
                ON c.id = p.conversation_id AND c.app_id = $1 AND c.deleted_position IS NULL
            CROSS JOIN unnest($4::uuid[]) u(id)
            CROSS JOIN LATERAL (
                SELECT x.ordinal FROM conversations.message_place x
                WHERE x.message_id = u.id AND x.conversation_id = $3 OFFSET 0) l
            CROSS JOIN LATERAL (
                SELECT FROM conversations.message m WHERE m.conversation_id = $3 AND m.ordinal = l.ordinal OFFSET 0) m
            WHERE p.conversation_id = $3 AND p.user_id = $2 AND conversations.may_see(p, l.ordinal)
            """, isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(conversation.rawValue),
            .uuidArray(messages.map(\.rawValue)),
        ]
    }

    struct Row: Decodable {
        let id: MessageID
    }
}

/// Gives receipts of several users in one conversation.
struct GiveGatheredReceipts: PostgresQuery {
    let app: AppID
    let conversation: ConversationID
    let users: [String]
    let messages: [UUID]
    let statuses: [Int64]
    let audienceLimit: Int64

    static let statement = Statement(
        "receipt.give",
        sql: """
            SELECT r.results, r.position, r.created_at, r.message_count, r.users, r.messages, r.ordinals, r.statuses,
                r.senders, r.audiences, r.number_users, r.number_uncounted, r.number_hidden, r.hidden_froms
            FROM conversations.give_receipts($1, $2, $3::text[], $4::uuid[], $5::int8[], $6, NULL, NULL) r
            """, isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .uuid(conversation.rawValue), .textArray(users), .uuidArray(messages),
            .int8Array(statuses),
            .int8(audienceLimit),
        ]
    }

    struct Row: Decodable {
        /// An outcome for each receipt.
        let results: [String]
        let change: ReceiptChange?
    }
}

struct GiveRecordedReceipts: PostgresQuery {
    let receipts: GiveGatheredReceipts

    typealias Row = GiveGatheredReceipts.Row

    static let statement = Statement(
        "receipt.give.recorded",
        sql: """
            \(GiveGatheredReceipts.statement.sql)
            CROSS JOIN LATERAL webhooks.record($1, $2, r.position, r.position) w
            """,
        isIdempotent: true)

    var parameters: [Value] { receipts.parameters }
}

/// Reads the state of a user's logs now and at a given time.
struct ReadBaseline: PostgresQuery {
    let app: AppID
    let user: UserID
    let since: PostgresTimestamp

    static let statement = Statement(
        "sync.baseline", sql: "SELECT * FROM conversations.baseline($1, $2, $3)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .timestamp(since)] }

    struct Row: Decodable {
        /// The conversation. nil: the row describes the user's own log.
        let conversationID: ConversationID?
        let position: Int64
        let after: Int64
        let uncounted: Int64?
        let hidden: Int64?
        let messageCount: Int64?
        let isParticipant: Bool?
        let oldestAt: StrataModel.Timestamp?
        let asOf: StrataModel.Timestamp?
        let complete: Bool?
    }
}

/// Reads the ids of all conversations on a user's list.
struct ReadListed: PostgresQuery {
    let app: AppID
    let user: UserID

    static let statement = Statement(
        "sync.listed",
        sql: """
            SELECT l.id
            FROM unnest(conversations.page_by_creation(
                $1, $2, NULL, 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff')) l(id)
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }

    struct Row: Decodable {
        let id: ConversationID
    }
}

/// ``ReadBaseline`` with the epoch.
///
/// The epoch is read on the same connection, after the rest. So it belongs to the database that was read, even if
/// another database replaces it.
struct ReplayBaseline: PostgresQuery {
    let app: AppID
    let user: UserID
    let since: PostgresTimestamp
    let knownEpoch: String?
    /// The end of the write-ahead log when the epoch was read.
    let walEnd: Int64?

    static let statement = Statement(
        "sync.replay_baseline",
        sql: """
            SELECT b.*, e.epoch, e.is_certain FROM conversations.baseline($1, $2, $3) b
            LEFT JOIN LATERAL conversations.check_replay($3, $4::text, $5::int8) e ON b.conversation_id IS NULL
            """, isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app.rawValue), .text(user.rawValue), .timestamp(since), Value(knownEpoch), Value(walEnd)]
    }

    struct Row: Decodable {
        let baseline: ReadBaseline.Row
        /// The epoch, in the row without a conversation.
        let epoch: String?
        let isCertain: Bool?
    }
}

/// ``ReadBaseline`` at a time relative to the database's clock, so that the gateways' clocks have no influence. The
/// time is not before `notBefore`, unless the clock was set back since then.
struct RecentBaseline: PostgresQuery {
    let app: AppID
    let user: UserID
    /// The age of the baseline in microseconds.
    let recent: Int64
    let notBefore: PostgresTimestamp

    typealias Row = ReadBaseline.Row

    static let statement = Statement(
        "sync.recent_baseline",
        sql: """
            SELECT b.*
            FROM (
                SELECT statement_timestamp() AS now,
                    statement_timestamp() - $3::int8 * interval '1 microsecond' AS recent) t
            CROSS JOIN LATERAL conversations.baseline(
                $1, $2, CASE WHEN $4::timestamptz <= t.now THEN greatest($4, t.recent) ELSE t.recent END) b
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(recent), .timestamp(notBefore)] }
}

/// Reads changes of several conversations and of the user's own log.
struct ReadLogs: PostgresQuery {
    let app: AppID
    let user: UserID
    let conversations: [UUID]
    let afters: [Int64]
    let userAfter: Int64?
    let limit: Int64
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    typealias Row = LogRow

    static let statement = Statement(
        "sync.read_logs", sql: "SELECT * FROM conversations.read_logs($1, $2, $3::uuid[], $4::int8[], $5, $6, $7)",
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .uuidArray(conversations), .int8Array(afters), Value(userAfter),
            .int8(limit),
            Value(maxBytes),
        ]
    }
}

/// Reads changes of one conversation, independent of a reader.
struct ReadChanges: PostgresQuery {
    let conversation: ConversationID
    let after: Int64
    let limit: Int64
    /// The users whose counts are included.
    let users: [String]
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    typealias Row = LogRow

    static let statement = Statement(
        "sync.read_changes", sql: "SELECT * FROM conversations.read_changes($1, $2, $3, $4::text[], $5)",
        isIdempotent: true)

    var parameters: [Value] {
        [.uuid(conversation.rawValue), .int8(after), .int8(limit), .textArray(users), Value(maxBytes)]
    }
}

/// Reads the heads of the logs that have grown since a time. Only the last two minutes count, so that the query reads
/// the log's recent rows and not its history.
///
/// If the time is in the future, because the clock was set back, the present time replaces it.
struct ReadHeads: PostgresQuery {
    let since: PostgresTimestamp?

    static let statement = Statement(
        "sync.heads",
        sql: """
            SELECT h.* FROM conversations.heads(CASE WHEN $1::timestamptz IS NOT NULL
                THEN least(greatest($1, statement_timestamp() - interval '2 minutes'), statement_timestamp()) END) h
            """, isIdempotent: true)

    var parameters: [Value] { [Value(since)] }

    struct Row: Decodable {
        let entry: Int64
        let appID: AppID?
        let userID: UserID?
        let conversationID: ConversationID?
        let position: Int64?
        let asOf: StrataModel.Timestamp?
    }
}
