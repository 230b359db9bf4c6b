// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import NetKit
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
    private let longestPause: Duration
    private let logger: Logger
    private let sent = Counter(label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "sent")])
    private let dropped = Counter(
        label: "strata_conversations_delayed_messages_total", dimensions: [("outcome", "dropped")])
    private let failures = Counter(label: "strata_conversations_delayed_message_failures_total")

    /// The default of the longest pause before the next search. Longer delays need no signal, and messages of other
    /// instances that are killed are found in time or this much late.
    static let longestPause = Duration.seconds(5)
    /// The pause after a failure.
    private static let retryPause = Duration.seconds(1)
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

    init(_ support: ServiceContext, longestPause: Duration = Self.longestPause, logger: Logger) {
        (self.support, self.longestPause, self.logger) = (support, longestPause, logger)
    }

    /// Works until the service stops. It logs a failure and retries after a pause.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let pause = await sendDue()
                await support.signals.delayedMessages.wait(until: .now + pause)
            }
        }
    }

    /// Sends and announces everything that is due.
    /// - Returns: the pause before the next search.
    func sendDue() async -> Duration {
        var turns = AppTurns()
        do {
            while !Task.isCancelled {
                if let pause = try await round(&turns) { return min(max(pause, Self.shortestPause), longestPause) }
            }
        } catch {
            report(error)
        }
        return Self.retryPause
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
            } else if let id = work.messages.popFirst(), try await sendOrPostpone(id) {
                hasDone = true
            }
            turns.charge(ContinuousClock.now - start, to: app)
            waiting[app] = work.isEmpty && !work.mayHaveMore ? nil : work
        }
        if hasDone || isCut { return nil }
        return hasFailed ? Self.retryPause : found.pause
    }

    /// Finds the due messages of some apps.
    /// - Returns: the messages, and the time until another message may be due.
    private func findDue() async throws -> (waiting: [AppID: Work], pause: Duration) {
        let rows = try await support.database.runExclusive(
            DueDelayed(after: .random(), apps: Self.appBatch, limit: Int64(Self.sendBatch)),
            deadline: .now + .seconds(30))
        var (waiting, pause): ([AppID: Work], Duration) = ([:], longestPause)
        for row in rows {
            if let app = row.appID {
                let ids = row.ids ?? []
                waiting[app] = Work(
                    messages: ids[...], isTyping: row.isTyping ?? false, mayHaveMore: ids.count >= Self.sendBatch)
            } else if let time = row.nextIn {
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
        for row in rows {
            guard let actor = row.actor else { continue }
            switch row.action {
            case "started":
                support.publisher.announce(.started, by: actor, in: row.conversationID, goodFor: Self.typingGoodFor)
            case "finished": support.publisher.announce(.finished, by: actor, in: row.conversationID, goodFor: nil)
            default: break
            }
        }
        return !rows.isEmpty
    }

    /// Sends a due message, or postpones it if it cannot be sent now.
    /// - Returns: true if it was sent or dropped.
    private func sendOrPostpone(_ id: UUID) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        do {
            return try await send(id, deadline: deadline)
        } catch {
            report(error)
            _ = try await support.database.runExclusive(PutOffDelayed(message: id), deadline: deadline)
            return false
        }
    }

    /// Sends or drops a due message, and announces the result.
    /// - Returns: false if nothing was done: the message is no longer due, another instance is sending it, or an
    ///   earlier message of its conversation must be sent first.
    private func send(_ id: UUID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await support.database.runExclusive(SendDelayed(message: id), deadline: deadline)
        let row = try support.row(rows)
        guard row.outcome != "none", let delayed = row.delayed else { return false }
        try await announce(delayed, sent: row.outcome == "ok" ? row.sent : nil, deadline: deadline)
        return true
    }

    /// Publishes a sent message, and ends its sender's typing. If the publication is lost, gateways find the change in
    /// the log.
    /// - Parameter sent: the message in the log; nil if it was dropped. Then only the typing ends.
    private func announce(
        _ delayed: SendDelayed.Row.Delayed, sent: SentMessage?, deadline: ContinuousClock.Instant
    ) async throws {
        let (app, conversation, actor) = (delayed.appID, delayed.conversationID, delayed.actor)
        defer { if let actor { support.publisher.announce(.finished, by: actor, in: conversation, goodFor: nil) } }
        guard let sent else { return dropped.increment() }
        self.sent.increment()
        var sender = MessageSender.name(delayed.senderName ?? "")
        if let actor {
            let identities = try await support.directory.basic([actor], in: app, deadline: deadline)
            sender = .user(identities[actor] ?? BasicIdentity(userID: actor))
        }
        let (hiddenFrom, counts) = try sent.effects(on: actor)
        let place = sent.place
        let message = StrataModel.Message(
            id: delayed.messageID, conversationID: conversation, position: place.position, ordinal: sent.ordinal,
            sender: sender, sentAt: place.createdAt, parts: MessageContent.decode(delayed.parts),
            recipients: sent.recipients(from: actor), notification: delayed.notification,
            receiptPolicy: sent.receiptPolicy)
        support.publisher.publish([
            Change(
                appID: app, conversationID: conversation, position: place.position, createdAt: place.createdAt,
                actor: actor, origin: nil, messageCount: sent.ordinal, counts: counts,
                content: .messageCreated(id: message.id, ordinal: sent.ordinal, message), hiddenFrom: hiddenFrom)
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
            Value(sent.notification), Value(message.contents?.map(\.rawValue)), Value(message.senderName), .int8(delay),
            .int8(typing),
            Value(limit),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let badContent: ContentID?
        let isTyping: Bool
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

    static let statement = Statement(
        "message.due_delayed",
        sql: "SELECT r.app_id, r.ids, r.is_typing, r.next_in FROM conversations.due_delayed($1, $2, $3) r",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(after.rawValue), .int8(apps), .int8(limit)] }

    struct Row: Decodable {
        /// The app. nil in the last row.
        let appID: AppID?
        let ids: [UUID]?
        let isTyping: Bool?
        /// The time until the next message or typing signal is due, in microseconds. Only in the last row. nil: no
        /// message is pending.
        let nextIn: Int64?
    }
}

/// Postpones a delayed message by a moment.
struct PutOffDelayed: PostgresQuery {
    let message: UUID

    static let statement = Statement(
        "message.put_off_delayed", sql: "SELECT conversations.put_off_delayed($1)", isIdempotent: true)

    var parameters: [Value] { [.uuid(message)] }
}

/// Advances the typing of senders of an app's delayed messages.
struct TypeDelayed: PostgresQuery {
    let app: AppID
    let limit: Int64

    static let statement = Statement(
        "message.type_delayed",
        sql: "SELECT r.conversation_id, r.actor, r.action FROM conversations.type_delayed($1, $2) r")

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }

    struct Row: Decodable {
        let conversationID: ConversationID
        let actor: UserID?
        /// The typing action to publish. nil: none.
        let action: String?
    }
}

struct SendDelayed: PostgresQuery {
    let message: UUID

    /// Always includes the recording, because the message's app is unknown here; the database decides if webhooks
    /// report the change.
    static let statement = Statement(
        "message.send_delayed",
        sql: """
            SELECT r.* FROM conversations.send_delayed($1) r
            CROSS JOIN LATERAL webhooks.record(r.app_id, r.conversation_id, r.position, r.position) w
            """)

    var parameters: [Value] { [.uuid(message)] }

    struct Row: Decodable {
        let outcome: String
        let delayed: Delayed?
        let sent: SentMessage?

        struct Delayed: Decodable {
            let appID: AppID
            let conversationID: ConversationID
            let messageID: MessageID
            let actor: UserID?
            let senderName: String?
            let parts: [UInt8]
            let notification: String?
        }
    }
}
