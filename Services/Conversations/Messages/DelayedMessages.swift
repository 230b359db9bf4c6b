// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel

/// Sends messages of apps' own servers whose delay is over, and shows their senders as typing before that.
///
/// Every instance does it: each is given other messages by the database, which sends a message and forgets it in one transaction. So a message is sent once,
/// whatever is killed meanwhile. Typing is published as the presence service publishes it, and ends by itself if nothing more is said.
struct DelayedMessages: Service {
    private let support: CallSupport
    private let logger: Logger
    private let sent = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "sent")])
    private let dropped = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "dropped")])
    private let failures = Counter(label: "strata_conversations_delayed_message_failures_total")

    /// A delay has a second at least: whatever other instances take meanwhile is seen before it is due.
    private static let longestPause = Duration.seconds(1)
    /// Until a typist is forgotten of whom nothing more is heard: a step of `work_off_delayed`, and some time for a step that is late.
    static let typingGoodFor = Duration.seconds(12)

    init(_ support: CallSupport, logger: Logger) {
        self.support = support
        self.logger = logger
    }

    /// Works until the service stops. Failures are logged, and tried again a moment later.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Duration.zero
            while (try? await Task.sleep(for: pause)) != nil { pause = await workOff() }
        }
    }

    /// Does all that is due.
    /// - Returns: until when to wait before looking again.
    func workOff() async -> Duration {
        do {
            while !Task.isCancelled {
                if let pause = try await step() { return min(pause, Self.longestPause) }
            }
        } catch {
            failures.increment()
            logger.warning("delayed messages could not be sent", metadata: ["error.type": "\(type(of: error))"])
        }
        return Self.longestPause
    }

    /// Does what is due first.
    /// - Returns: nil; or, if nothing was due, until when nothing will be.
    private func step() async throws -> Duration? {
        let deadline = ContinuousClock.now + .seconds(30)
        let rows = try await support.database.runAlone(WorkOffDelayed(), deadline: deadline)
        let row = try support.row(rows)
        let columns = try rows.columns(of: WorkOffDelayed.self)
        switch try row[columns.kind] {
        case "sent": try await announce(row, by: columns, deadline: deadline)
        case "typing":
            if let actor = try row[optional: columns.actor] {
                support.publisher.announce(
                    .started, by: UserID(trusted: actor), in: ConversationID(rawValue: try row[columns.conversation]), goodFor: Self.typingGoodFor)
            }
        default: return try row[optional: columns.nextIn].map { .microseconds($0) } ?? Self.longestPause
        }
        return nil
    }

    /// Tells what was sent. A publication that is lost here is found by the gateways, as any other.
    private func announce(_ row: Row, by columns: DelayedColumns, deadline: ContinuousClock.Instant) async throws {
        let (app, conversation) = (AppID(rawValue: try row[columns.app]), ConversationID(rawValue: try row[columns.conversation]))
        let actor = try row[optional: columns.actor].map { UserID(trusted: $0) }
        defer { if let actor { support.publisher.announce(.finished, by: actor, in: conversation, goodFor: nil) } }
        guard try row[columns.outcome] == "ok" else { return dropped.increment() }
        sent.increment()
        let position = Position(try row[columns.position])
        let createdAt = StrataModel.Timestamp(try row[columns.createdAt])
        var sender = MessageSender.name(try row[optional: columns.senderName] ?? "")
        let kept = try columns.kept.numbers(in: row, at: position)
        var numbers = Dictionary(kept.map { ($0.user, $0.numbers) }) { first, _ in first }
        if let actor {
            let identities = try await support.directory.basic([actor], in: app, deadline: deadline)
            sender = .user(identities[actor] ?? BasicIdentity(userID: actor))
            if let uncounted = try row[optional: columns.uncounted] {
                numbers[actor] = UserNumbers(uncounted: uncounted, hidden: try row[columns.hidden], position: position)
            }
        }
        let (id, ordinal) = (MessageID(rawValue: try row[columns.message]), try row[columns.ordinal])
        let message = StrataModel.Message(
            id: id, conversationID: conversation, position: position, ordinal: ordinal, sender: sender, sentAt: createdAt,
            parts: MessageRow.decode(try row[columns.parts]),
            recipients: try row[columns.recipients].map { UserID(trusted: $0) }.map { .init(userID: $0, status: $0 == actor ? .read : .sent) },
            notification: try row[optional: columns.notification], receiptPolicy: ReceiptPolicy(try row[columns.receiptPolicy]))
        support.publisher.publish([
            Change(
                appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: actor, origin: nil,
                messageCount: ordinal, numbers: numbers, content: .messageCreated(id: id, ordinal: ordinal, message),
                hiddenFrom: kept.map(\.user))
        ])
    }
}

/// Takes a message that is to be sent later.
struct DelayMessage: PostgresQuery {
    /// What will be sent.
    let message: SendServerMessage
    /// In milliseconds, as is ``typing``.
    let delay: Int64
    let typing: Int64
    /// The most that the app may have.
    let limit: Int?

    typealias Columns = DelayColumns

    static let statement = Statement(
        "message.delay",
        sql: """
            SELECT r.outcome, r.bad_content, r.is_typing
            FROM conversations.delay_message($1, $2, $3, $4, $5, $6, $7::uuid[], $8, $9, $10, $11) r
            """, isIdempotent: true)

    var parameters: [Value] {
        let sent = message.message
        return [
            .uuid(sent.app.rawValue), .actor(sent.user), .uuid(sent.conversation.rawValue), .uuid(sent.message.rawValue), .bytes(sent.parts),
            Value(sent.notification), Value(sent.contents?.map(\.rawValue)), Value(message.senderName), .int8(delay), .int8(typing),
            Value(limit),
        ]
    }
}

/// Of ``DelayMessage``.
struct DelayColumns: ColumnSet {
    let outcome: Column<String>
    let badContent: Column<UUID>
    let isTyping: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        badContent = try names.column("bad_content")
        isTyping = try names.column("is_typing")
    }
}

/// Does what is due first among the delayed messages.
struct WorkOffDelayed: PostgresQuery {
    typealias Columns = DelayedColumns

    /// Of any app: whether webhooks are to be told, the database looks itself.
    static let statement = Statement(
        "message.work_off_delayed",
        sql: """
            SELECT r.* FROM conversations.work_off_delayed() r
            CROSS JOIN LATERAL webhooks.record(r.app_id, r.conversation_id, r.position, r.position) w
            """)

    var parameters: [Value] { [] }
}

/// Of ``WorkOffDelayed``.
struct DelayedColumns: ColumnSet {
    let kind: Column<String>
    let nextIn: Column<Int64>
    let app: Column<UUID>
    let conversation: Column<UUID>
    let message: Column<UUID>
    let actor: Column<String>
    let senderName: Column<String>
    let parts: Column<[UInt8]>
    let notification: Column<String>
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<Postgres.Timestamp>
    let ordinal: Column<Int64>
    let recipients: Column<[String]>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let receiptPolicy: Column<Int64>
    let kept: KeptColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        kind = try names.column("kind")
        nextIn = try names.column("next_in")
        app = try names.column("app_id")
        conversation = try names.column("conversation_id")
        message = try names.column("message_id")
        actor = try names.column("actor")
        senderName = try names.column("sender_name")
        parts = try names.column("parts")
        notification = try names.column("notification")
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        ordinal = try names.column("ordinal")
        recipients = try names.column("recipients")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        receiptPolicy = try names.column("receipt_policy")
        kept = try KeptColumns(&names)
    }
}
