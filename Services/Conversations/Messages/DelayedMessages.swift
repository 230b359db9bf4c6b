// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel

/// Sends due delayed messages of apps' own servers, and shows their senders as typing before. ``AppTurns`` decides
/// which app is next.
///
/// Every instance runs it. The database gives each instance other messages, and sends and removes a message in one
/// transaction. So each message is sent once, even if instances are killed. A message that cannot be sent is retried
/// later, together with the following ones of its conversation; other conversations are not delayed.
///
/// Typing is published in the same form as by the presence service. It ends automatically if it is not renewed.
struct DelayedMessages: Service {
    private let support: ServiceContext
    private let logger: Logger
    private let sent = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "sent")])
    private let dropped = Counter(
        label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "dropped")])
    private let failures = Counter(label: "strata_conversations_delayed_message_failures_total")

    /// The longest pause before the next search. A delay is at least as long, so messages accepted by other instances
    /// are found before they are due.
    private static let longestPause = Duration.seconds(1)
    /// The shortest pause, if another instance is working on due messages.
    private static let shortestPause = Duration.milliseconds(20)
    /// The lifetime of a typing signal that is not renewed: several steps of `type_delayed`.
    static let typingGoodFor = Duration.seconds(10)
    /// The maximum number of messages of one app in one search.
    private static let sendBatch = 20
    /// The maximum number of apps in one search.
    private static let appBatch: Int64 = 50
    /// The maximum number of typing users in one transaction.
    private static let typingBatch: Int64 = 200
    /// The time after which the search is repeated, because other apps may have become due.
    private static let repeatSearchAfter = Duration.milliseconds(200)

    init(_ support: ServiceContext, logger: Logger) {
        self.support = support
        self.logger = logger
    }

    /// Works until the service stops. It logs a failure and retries after a pause.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Duration.zero
            while (try? await Task.sleep(for: pause)) != nil { pause = await sendDue() }
        }
    }

    /// Sends and announces everything that is due.
    /// - Returns: the pause before the next search.
    func sendDue() async -> Duration {
        var turns = AppTurns()
        do {
            while !Task.isCancelled {
                if let pause = try await round(&turns) { return min(max(pause, Self.shortestPause), Self.longestPause) }
            }
        } catch {
            report(error)
        }
        return Self.longestPause
    }

    private func report(_ error: any Error) {
        failures.increment()
        logger.warning(
            "sending of delayed messages failed", metadata: ["error.code": "\(Failure(reading: error).code.id)"])
    }

    /// The due work of one app, as found by one search.
    private struct Work {
        var messages: ArraySlice<UUID>
        /// True if senders are to be shown as typing.
        var isTyping: Bool
        /// True if the app may have more due messages.
        let mayHaveMore: Bool

        var isEmpty: Bool { messages.isEmpty && !isTyping }
    }

    /// Searches for due work and serves the apps in turn. It ends early if another search may find more.
    /// - Returns: nil to search again at once; otherwise the pause before the next search.
    private func round(_ turns: inout AppTurns) async throws -> Duration? {
        let found = try await findDue()
        let searchedAt = ContinuousClock.now
        var (waiting, hasDone, hasFailed, isCut) = (found.waiting, false, false, false)
        while let app = turns.next(among: waiting.keys), var work = waiting[app] {
            let start = ContinuousClock.now
            isCut = start - searchedAt > Self.repeatSearchAfter
            if work.isEmpty || isCut { break }
            if work.isTyping {
                work.isTyping = false
                do {
                    if try await announceTyping(in: app, deadline: start + .seconds(30)) { hasDone = true }
                } catch {
                    report(error)
                    hasFailed = true
                }
            } else if let id = work.messages.popFirst(), try await send(id) {
                hasDone = true
            }
            turns.charge(ContinuousClock.now - start, to: app)
            waiting[app] = work.isEmpty && !work.mayHaveMore ? nil : work
        }
        if hasDone || isCut { return nil }
        return hasFailed ? Self.longestPause : found.pause
    }

    private func findDue() async throws -> (waiting: [AppID: Work], pause: Duration) {
        let rows = try await support.database.runExclusive(
            DueDelayed(after: .random(), apps: Self.appBatch, limit: Int64(Self.sendBatch)),
            deadline: .now + .seconds(30))
        let columns = try rows.columns(of: DueDelayed.self)
        var (waiting, pause): ([AppID: Work], Duration) = ([:], Self.longestPause)
        for row in rows {
            if let app = try row[optional: columns.app] {
                let ids = try row[columns.ids]
                waiting[AppID(rawValue: app)] = Work(
                    messages: ids[...], isTyping: try row[columns.isTyping], mayHaveMore: ids.count >= Self.sendBatch)
            } else if let time = try row[optional: columns.nextIn] {
                pause = .microseconds(time)
            }
        }
        return (waiting, pause)
    }

    /// Publishes which users of an app are still typing, and which have finished.
    /// - Returns: false if no user was typing.
    private func announceTyping(in app: AppID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await support.database.runExclusive(
            TypeDelayed(app: app, limit: Self.typingBatch), deadline: deadline)
        let columns = try rows.columns(of: TypeDelayed.self)
        for row in rows {
            guard let actor = try row[optional: columns.actor].map({ UserID(trusted: $0) }) else { continue }
            let conversation = ConversationID(rawValue: try row[columns.conversation])
            switch try row[optional: columns.action] {
            case "started":
                support.publisher.announce(.started, by: actor, in: conversation, goodFor: Self.typingGoodFor)
            case "finished": support.publisher.announce(.finished, by: actor, in: conversation, goodFor: nil)
            default: break
            }
        }
        return !rows.isEmpty
    }

    /// Sends a due message, or postpones it if it cannot be sent now.
    /// - Returns: true if it was sent or dropped.
    private func send(_ id: UUID) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        do {
            return try await send(id, deadline: deadline)
        } catch {
            report(error)
            _ = try await support.database.runExclusive(PutOffDelayed(message: id), deadline: deadline)
            return false
        }
    }

    /// Sends a due message.
    /// - Returns: false if another instance sends it.
    private func send(_ id: UUID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await support.database.runExclusive(SendDelayed(message: id), deadline: deadline)
        let (row, columns) = (try support.row(rows), try rows.columns(of: SendDelayed.self))
        if try row[columns.outcome] == "none" { return false }
        try await announce(row, by: columns, deadline: deadline)
        return true
    }

    /// Publishes a sent message. If the publication is lost, gateways find the change in the log, as with any other.
    private func announce(_ row: Row, by columns: DelayedColumns, deadline: ContinuousClock.Instant) async throws {
        let (app, conversation) = (
            AppID(rawValue: try row[columns.app]), ConversationID(rawValue: try row[columns.conversation])
        )
        let actor = try row[optional: columns.actor].map { UserID(trusted: $0) }
        defer { if let actor { support.publisher.announce(.finished, by: actor, in: conversation, goodFor: nil) } }
        guard try row[columns.outcome] == "ok" else { return dropped.increment() }
        sent.increment()
        let position = Position(try row[columns.position])
        let createdAt = StrataModel.Timestamp(try row[columns.createdAt])
        var sender = MessageSender.name(try row[optional: columns.senderName] ?? "")
        let kept = try columns.kept.counts(in: row, at: position)
        var counts = Dictionary(kept.map { ($0.user, $0.counts) }) { first, _ in first }
        if let actor {
            let identities = try await support.directory.basic([actor], in: app, deadline: deadline)
            sender = .user(identities[actor] ?? BasicIdentity(userID: actor))
            if let uncounted = try row[optional: columns.uncounted] {
                counts[actor] = UserCounts(excluded: uncounted, hidden: try row[columns.hidden], position: position)
            }
        }
        let (id, ordinal) = (MessageID(rawValue: try row[columns.message]), try row[columns.ordinal])
        let message = StrataModel.Message(
            id: id, conversationID: conversation, position: position, ordinal: ordinal, sender: sender,
            sentAt: createdAt,
            parts: MessageRow.decode(try row[columns.parts]),
            recipients: try row[columns.recipients].map { UserID(trusted: $0) }
                .map { .init(userID: $0, status: $0 == actor ? .read : .sent) },
            notification: try row[optional: columns.notification],
            receiptPolicy: ReceiptPolicy(try row[columns.receiptPolicy]))
        support.publisher.publish([
            Change(
                appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: actor,
                origin: nil,
                messageCount: ordinal, counts: counts, content: .messageCreated(id: id, ordinal: ordinal, message),
                hiddenFrom: kept.map(\.user))
        ])
    }
}

/// Stores a message that is to be sent later.
struct DelayMessage: PostgresQuery {
    let message: SendServerMessage
    /// The delay in milliseconds. ``typing`` has the same unit.
    let delay: Int64
    let typing: Int64
    /// The maximum number of delayed messages of the app.
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
            .uuid(sent.app.rawValue), .actor(sent.user), .uuid(sent.conversation.rawValue),
            .uuid(sent.message.rawValue), .bytes(sent.parts),
            Value(sent.notification), Value(sent.contents?.map(\.rawValue)), Value(message.senderName), .int8(delay),
            .int8(typing),
            Value(limit),
        ]
    }
}

/// The result columns of ``DelayMessage``.
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

/// Finds the apps with due delayed messages, and some of these messages.
struct DueDelayed: PostgresQuery {
    /// The id after which the search begins. A random id reaches every app in the long run, even if there are more than
    /// `apps`.
    let after: AppID
    let apps: Int64
    /// The maximum number of messages of one app.
    let limit: Int64

    typealias Columns = DueDelayedColumns

    static let statement = Statement(
        "message.due_delayed",
        sql: "SELECT r.app_id, r.ids, r.is_typing, r.next_in FROM conversations.due_delayed($1, $2, $3) r",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(apps), .int8(limit)] }
}

/// The result columns of ``DueDelayed``. The last row has no app.
struct DueDelayedColumns: ColumnSet {
    let app: Column<UUID>
    let ids: Column<[UUID]>
    let isTyping: Column<Bool>
    /// The time until the next message or typing signal is due, in microseconds. Only in the last row. Null: no message
    /// is pending.
    let nextIn: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        app = try names.column("app_id")
        ids = try names.column("ids")
        isTyping = try names.column("is_typing")
        nextIn = try names.column("next_in")
    }
}

/// Postpones a delayed message by a moment.
struct PutOffDelayed: PostgresQuery {
    let message: UUID

    typealias Columns = NoColumns

    static let statement = Statement(
        "message.put_off_delayed", sql: "SELECT conversations.put_off_delayed($1)", isIdempotent: true)

    var parameters: [Value] { [.uuid(message)] }
}

/// Advances the typing of senders of an app's delayed messages.
struct TypeDelayed: PostgresQuery {
    let app: AppID
    let limit: Int64

    typealias Columns = TypeDelayedColumns

    static let statement = Statement(
        "message.type_delayed",
        sql: "SELECT r.conversation_id, r.actor, r.action FROM conversations.type_delayed($1, $2) r")

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }
}

/// The result columns of ``TypeDelayed``.
struct TypeDelayedColumns: ColumnSet {
    let conversation: Column<UUID>
    let actor: Column<String>
    /// The typing action to publish. NULL: none.
    let action: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        conversation = try names.column("conversation_id")
        actor = try names.column("actor")
        action = try names.column("action")
    }
}

struct SendDelayed: PostgresQuery {
    let message: UUID

    typealias Columns = DelayedColumns

    /// Always includes the recording, because the message's app is unknown here; the database decides if webhooks
    /// report the change.
    static let statement = Statement(
        "message.send_delayed",
        sql: """
            SELECT r.* FROM conversations.send_delayed($1) r
            CROSS JOIN LATERAL webhooks.record(r.app_id, r.conversation_id, r.position, r.position) w
            """)

    var parameters: [Value] { [.uuid(message)] }
}

/// The result columns of ``SendDelayed``.
struct DelayedColumns: ColumnSet {
    let app: Column<UUID>
    let conversation: Column<UUID>
    let message: Column<UUID>
    let actor: Column<String>
    let senderName: Column<String>
    let parts: Column<[UInt8]>
    let notification: Column<String>
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let ordinal: Column<Int64>
    let recipients: Column<[String]>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let receiptPolicy: Column<Int64>
    let kept: HiddenFromColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
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
        kept = try HiddenFromColumns(&names)
    }
}
