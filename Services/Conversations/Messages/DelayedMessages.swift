// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel

/// Sends messages of apps' own servers whose delay is over, and shows their senders as typing before that. Apps are served in turn, see ``AppTurns``.
///
/// Every instance does it: each is given other messages by the database, which sends a message and forgets it in one transaction. So a message is sent once,
/// whatever is killed meanwhile. One that cannot be sent now waits with the others of its conversation, and holds up no other. Typing is published as the
/// presence service publishes it, and ends by itself if nothing more is said.
struct DelayedMessages: Service {
    private let support: CallSupport
    private let logger: Logger
    private let sent = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "sent")])
    private let dropped = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "dropped")])
    private let failures = Counter(label: "strata_conversations_delayed_message_failures_total")

    /// A delay has a second at least: whatever other instances take meanwhile is seen before it is due.
    private static let longestPause = Duration.seconds(1)
    /// Before looking again at what is due, and is with another instance.
    private static let shortestPause = Duration.milliseconds(20)
    /// Until a typist is forgotten of whom nothing more is heard: some steps of `type_delayed`.
    static let typingGoodFor = Duration.seconds(10)
    /// Messages of one app that one look finds.
    private static let sendBatch = 20
    /// Apps that one look finds.
    private static let appBatch: Int64 = 50
    /// Typists in one transaction.
    private static let typingBatch: Int64 = 200
    /// The time after which a look is repeated, because other apps may have become due.
    private static let lookAgainAfter = Duration.milliseconds(200)

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
        logger.warning("delayed messages could not be sent", metadata: ["error.code": "\(Failure(reading: error).code.id)"])
    }

    /// The due work of one app, as one look found it.
    private struct Work {
        var messages: ArraySlice<UUID>
        /// True if senders are to be shown as typing.
        var isTyping: Bool
        /// True if the app may have more messages that are due.
        let mayHaveMore: Bool

        var isEmpty: Bool { messages.isEmpty && !isTyping }
    }

    /// Looks what is due, and serves the apps in turn. Ends early where another look may find more.
    /// - Returns: nil; or, if there was nothing to do, until when there will be nothing.
    private func round(_ turns: inout AppTurns) async throws -> Duration? {
        let found = try await look()
        let lookedAt = ContinuousClock.now
        var (waiting, hasDone, hasFailed, isCut) = (found.waiting, false, false, false)
        while let app = turns.next(among: waiting.keys), var work = waiting[app] {
            let start = ContinuousClock.now
            isCut = start - lookedAt > Self.lookAgainAfter
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

    private func look() async throws -> (waiting: [AppID: Work], pause: Duration) {
        let rows = try await support.database.runAlone(
            DueDelayed(after: .random(), apps: Self.appBatch, limit: Int64(Self.sendBatch)), deadline: .now + .seconds(30))
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

    /// Says once more which users of an app are typing, and of some that they are not.
    /// - Returns: false if no user was typing.
    private func announceTyping(in app: AppID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await support.database.runAlone(TypeDelayed(app: app, limit: Self.typingBatch), deadline: deadline)
        let columns = try rows.columns(of: TypeDelayed.self)
        for row in rows {
            guard let actor = try row[optional: columns.actor].map({ UserID(trusted: $0) }) else { continue }
            let conversation = ConversationID(rawValue: try row[columns.conversation])
            switch try row[optional: columns.action] {
            case "started": support.publisher.announce(.started, by: actor, in: conversation, goodFor: Self.typingGoodFor)
            case "finished": support.publisher.announce(.finished, by: actor, in: conversation, goodFor: nil)
            default: break
            }
        }
        return !rows.isEmpty
    }

    /// Sends a message that is due, or puts it off if it cannot be sent now.
    /// - Returns: true if it was sent or dropped.
    private func send(_ id: UUID) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        do {
            return try await send(id, deadline: deadline)
        } catch {
            report(error)
            _ = try await support.database.runAlone(PutOffDelayed(message: id), deadline: deadline)
            return false
        }
    }

    /// Sends a message that is due.
    /// - Returns: false if another instance has it.
    private func send(_ id: UUID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await support.database.runAlone(SendDelayed(message: id), deadline: deadline)
        let (row, columns) = (try support.row(rows), try rows.columns(of: SendDelayed.self))
        if try row[columns.outcome] == "none" { return false }
        try await announce(row, by: columns, deadline: deadline)
        return true
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

/// The apps with delayed messages that are due, and some of these messages.
struct DueDelayed: PostgresQuery {
    /// The id behind which to look. A random one reaches every app, if there are more than fit.
    let after: AppID
    /// The most apps.
    let apps: Int64
    /// The most messages of one app.
    let limit: Int64

    typealias Columns = DueDelayedColumns

    static let statement = Statement(
        "message.due_delayed",
        sql: "SELECT r.app_id, r.ids, r.is_typing, r.next_in FROM conversations.due_delayed($1, $2, $3) r", isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(apps), .int8(limit)] }
}

/// The result columns of ``DueDelayed``. The last row has no app.
struct DueDelayedColumns: ColumnSet {
    let app: Column<UUID>
    let ids: Column<[UUID]>
    let isTyping: Column<Bool>
    /// The time until anything is due, in microseconds. Only in the last row; null if no message waits.
    let nextIn: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        app = try names.column("app_id")
        ids = try names.column("ids")
        isTyping = try names.column("is_typing")
        nextIn = try names.column("next_in")
    }
}

/// Has a delayed message wait for a moment more.
struct PutOffDelayed: PostgresQuery {
    let message: UUID

    typealias Columns = NoColumns

    static let statement = Statement("message.put_off_delayed", sql: "SELECT conversations.put_off_delayed($1)", isIdempotent: true)

    var parameters: [Value] { [.uuid(message)] }
}

/// Goes on with the typing of the senders of delayed messages of an app.
struct TypeDelayed: PostgresQuery {
    let app: AppID
    /// The most senders.
    let limit: Int64

    typealias Columns = TypeDelayedColumns

    static let statement = Statement(
        "message.type_delayed", sql: "SELECT r.conversation_id, r.actor, r.action FROM conversations.type_delayed($1, $2) r")

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }
}

/// Of ``TypeDelayed``.
struct TypeDelayedColumns: ColumnSet {
    let conversation: Column<UUID>
    let actor: Column<String>
    /// NULL: nothing is to be said.
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

    /// Of any app: whether webhooks are to be told, the database looks itself.
    static let statement = Statement(
        "message.send_delayed",
        sql: """
            SELECT r.* FROM conversations.send_delayed($1) r
            CROSS JOIN LATERAL webhooks.record(r.app_id, r.conversation_id, r.position, r.position) w
            """)

    var parameters: [Value] { [.uuid(message)] }
}

/// Of ``SendDelayed``.
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
    let createdAt: Column<Postgres.Timestamp>
    let ordinal: Column<Int64>
    let recipients: Column<[String]>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let receiptPolicy: Column<Int64>
    let kept: KeptColumns

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
        kept = try KeptColumns(&names)
    }
}
