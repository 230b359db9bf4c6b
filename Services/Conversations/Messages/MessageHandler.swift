// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import NetKit
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about messages and receipts.
struct MessageHandler: CallHandler {
    private let support: ServiceContext
    private let receipts: ReceiptGatherer
    private let bulkReceipts: BulkReceiptHandler
    private var database: Database { support.database }

    init(_ support: ServiceContext, receipts: ReceiptGatherer) {
        self.support = support
        self.receipts = receipts
        bulkReceipts = BulkReceiptHandler(support)
    }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.sendMessage) { try await self.sendMessage($0, in: $1) }
        router.register(ConversationsAPI.scheduleMessage) { try await self.scheduleMessage($0, in: $1) }
        router.register(ConversationsAPI.getMessage) { try await self.getMessage($0, in: $1) }
        router.register(ConversationsAPI.listMessages) { try await self.listMessages($0, in: $1) }
        router.register(ConversationsAPI.deleteMessage) { try await self.deleteMessage($0, in: $1) }
        router.register(ConversationsAPI.giveReceipt) { try await self.giveReceipt($0, in: $1) }
    }

    // MARK: Send

    private func sendMessage(
        _ request: ProtoSendMessageRequest, in context: RPCContext
    ) async throws -> ProtoSendMessageResponse {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        return try await support.idempotent(caller) {
            try await carryOut(request, for: caller)
        } answer: { earlier in
            guard let id = earlier.object.map({ MessageID(rawValue: $0) }) else { throw Failure.notFound("message") }
            let message = try await message(
                id, for: request.byServer ? .appServer : caller.user, in: caller.app, deadline: caller.deadline)
            return .with {
                $0.message = ProtoMessage(message)
                $0.place = ProtoChangePlace(earlier.place)
            }
        }
    }

    /// Writes the message and publishes it.
    /// - Returns: nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(
        _ request: ProtoSendMessageRequest, for caller: Caller
    ) async throws -> ProtoSendMessageResponse? {
        let (id, conversation) = (
            try MessageID(contract: request.id), try ConversationID(contract: request.conversationID)
        )
        // Encode the parts before anything is written, so that no unreadable message is stored.
        var parts = try request.parts.map { part throws(ContractViolation) in try MessagePart(part) }
        let contents = parts.compactMap(\.contentID)
        if !contents.isEmpty {
            try await support.measure(
                &parts, by: request.byServer ? .appServer : caller.user, in: caller.app, deadline: caller.deadline)
        }
        let stored = try MessageParts.encode(parts)
        let query = SendMessage(
            app: caller.app, user: caller.user, conversation: conversation, message: id, parts: stored,
            notification: request.hasNotification ? request.notification : nil, origin: caller.origin)
        guard
            let written = try await store(
                query, contents: contents.isEmpty ? nil : contents, as: request, for: caller)
        else { return nil }
        let row = written.row
        if request.byServer { try Self.checkSender(row.outcome) }
        try Refusal.check(row.outcome, what: "conversation")
        let sender = try await sender(of: request, for: caller)
        guard row.outcome == "ok", let sent = row.sent else {
            if let bad = row.badContent { throw MessageParts.unsendable(bad, in: parts) }
            throw try await idInUse(by: row.message, caller)
        }
        let (place, ordinal) = (sent.place, sent.ordinal)
        let (hiddenFrom, counts) = try sent.effects(on: caller.user)
        let message = StrataModel.Message(
            id: id, conversationID: conversation, position: place.position, ordinal: ordinal, sender: sender,
            sentAt: place.createdAt, parts: parts, recipients: sent.recipients(from: caller.user),
            notification: request.hasNotification ? request.notification : nil, receiptPolicy: sent.receiptPolicy)
        support.publisher.publish([
            caller.change(
                in: conversation, at: place.position, createdAt: place.createdAt, messageCount: ordinal, counts: counts,
                content: .messageCreated(id: id, ordinal: ordinal, message), hiddenFrom: hiddenFrom)
        ])
        return .with {
            $0.message = ProtoMessage(message)
            $0.place = ProtoChangePlace(written.place ?? LogPosition(position: place.position))
        }
    }

    /// Stores a message.
    ///
    /// A message with content also locks the content, so it runs in its own transaction. Other messages share one, in
    /// which no statement may wait for a message id that another transaction is using. Such a statement is repeated in
    /// its own transaction.
    private func store(
        _ query: SendMessage, contents: [ContentID]?, as request: ProtoSendMessageRequest, for caller: Caller
    ) async throws -> WriteResult<SendMessage.Row>? {
        if request.byServer {
            // Use a separate transaction: the lookups for a sender who is not a participant must not delay a group.
            return try await support.write(
                SendServerMessage(
                    message: query, contents: contents, senderName: request.hasSenderName ? request.senderName : nil),
                for: caller)
        }
        let alone = SendMessageAlone(message: query, contents: contents)
        guard contents == nil else { return try await support.write(alone, for: caller) }
        guard
            let written = try await support.write(query, for: caller, on: .shared(lockKey: query.conversation.lockKey))
        else { return nil }
        if written.row.outcome != "busy_id" { return written }
        // A statement that waits for another transaction runs in the large pool, where no list or replay needs the
        // connection.
        return try await support.write(alone, for: caller, on: .large)
    }

    /// Stores a message of an app's own server for later sending.
    private func scheduleMessage(
        _ request: ProtoScheduleMessageRequest, in context: RPCContext
    ) async throws -> ProtoEmpty {
        let message = request.message
        let caller = try Caller(app: message.appID, user: message.actor, context)
        guard (1000...300_000).contains(request.delayMs), (0...request.delayMs).contains(request.typingMs) else {
            throw Failure.invalid(
                "schedule", reason: "must have a delay from 1 to 300 s, and at most that time of typing")
        }
        let (id, conversation) = (
            try MessageID(contract: message.id), try ConversationID(contract: message.conversationID)
        )
        var parts = try message.parts.map { part throws(ContractViolation) in try MessagePart(part) }
        let contents = parts.compactMap(\.contentID)
        if !contents.isEmpty {
            try await support.measure(&parts, by: .appServer, in: caller.app, deadline: caller.deadline)
        }
        let sent = SendMessage(
            app: caller.app, user: caller.user, conversation: conversation, message: id,
            parts: try MessageParts.encode(parts),
            notification: message.hasNotification ? message.notification : nil, origin: nil)
        let rows = try await database.runExclusive(
            DelayMessage(
                message: SendServerMessage(
                    message: sent, contents: contents.isEmpty ? nil : contents,
                    senderName: message.hasSenderName ? message.senderName : nil),
                delay: request.delayMs, typing: request.typingMs, limit: support.quotas.delayedMessages), for: caller)
        let row = try support.row(rows)
        let outcome = row.outcome
        try Self.checkSender(outcome)
        try Refusal.check(outcome, what: "conversation")
        if outcome == "unknown_content", let bad = row.badContent { throw MessageParts.unsendable(bad, in: parts) }
        if outcome == "id_in_use" { throw Failure(.idInUse, "The id is in use.") }
        if outcome == "too_many" { throw QuotaRefusal.delayedMessages.failure(support.quotas) }
        if row.isTyping {
            support.publisher.announce(
                .started, by: caller.user, in: conversation, goodFor: DelayedMessages.typingGoodFor)
        }
        if Duration.milliseconds(request.delayMs) - .milliseconds(request.typingMs) < DelayedMessages.longestPause {
            support.signals.delayedMessages.signal()
        }
        return ProtoEmpty()
    }

    private func sender(of request: ProtoSendMessageRequest, for caller: Caller) async throws(Failure) -> MessageSender
    {
        if request.hasSenderName { return .name(request.senderName) }
        let identities = try await support.directory.basic([caller.user], in: caller.app, deadline: caller.deadline)
        return .user(identities[caller.user] ?? BasicIdentity(userID: caller.user))
    }

    /// Checks if the app's own server can send a message for this sender.
    /// - Throws: the refusal.
    static func checkSender(_ outcome: String) throws(Failure) {
        switch outcome {
        case "unknown_sender": throw .invalid("sender", reason: "has no identity")
        case "access_denied": throw .accessDenied("The sender is not a participant of the conversation.")
        default: break
        }
    }

    /// - Parameter message: the message that has the id. nil if the caller may not see it.
    private func idInUse(by message: MessageRow?, _ caller: Caller) async throws -> Failure {
        guard let message else { return Failure(.idInUse, "The id is in use.") }
        let identities = try await support.directory.basic(message.users, in: caller.app, deadline: caller.deadline)
        return Failure(.idInUse, "The id is in use.", detail: .message(message.message(identities)))
    }

    // MARK: Read

    private func getMessage(_ request: ProtoGetMessageRequest, in context: RPCContext) async throws -> ProtoMessage {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let message = try await message(
            try MessageID(contract: request.messageID), for: caller.user, in: caller.app, deadline: caller.deadline)
        if request.hasConversationID, try message.conversationID != ConversationID(contract: request.conversationID) {
            throw Failure.notFound("message")
        }
        return ProtoMessage(message)
    }

    private func message(
        _ id: MessageID, for user: UserID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws -> StrataModel.Message {
        let rows = try await database.run(GetMessage(app: app, user: user, message: id), deadline: deadline)
        guard let message = rows.first?.message else { throw Failure.notFound("message") }
        return message.message(try await support.directory.basic(message.users, in: app, deadline: deadline))
    }

    private func listMessages(
        _ request: ProtoListMessagesRequest, in context: RPCContext
    ) async throws -> ProtoListMessagesResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let conversation = try ConversationID(contract: request.conversationID)
        let from = request.hasFromID ? try MessageID(contract: request.fromID) : nil
        let rows = try await database.runExclusive(
            ListMessages(
                app: caller.app, user: caller.user, conversation: conversation,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)), from: from,
                maxBytes: ServiceContext.bound(request.maxBytes)), for: caller)
        let header = try support.row(rows)
        try Refusal.check(header.outcome ?? "", what: "conversation")
        if header.outcome == "unknown_cursor" {
            throw caller.isServer
                ? Failure.notFound("message") : .invalid("from_id", reason: "is not the id of a message in this list")
        }
        let messages = rows.dropFirst().compactMap(\.message)
        // If the page is cut or the list continues after it, a last row without a message has the outcome "more", the
        // last id, or both.
        let end = messages.count < rows.count - 1 ? rows.last : nil
        let identities = try await support.directory.basic(
            Array(Set(messages.flatMap(\.users))), in: caller.app, deadline: caller.deadline)
        return .with {
            $0.messages = messages.map { ProtoMessage($0.message(identities)) }
            $0.total = header.total ?? 0
            $0.isCut = end?.outcome == "more"
            $0.end = ProtoPageEnd(lastID: end?.lastID.map { Data($0) })
        }
    }

    // MARK: Delete

    private func deleteMessage(
        _ request: ProtoDeleteMessageRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        return ProtoChangePlace(try await support.idempotent(caller) { try await carryOut(request, for: caller) })
    }

    /// Writes the deletion, publishes its change, and notifies the gateways of the users concerned.
    /// - Returns: the change's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(_ request: ProtoDeleteMessageRequest, for caller: Caller) async throws -> LogPosition? {
        let id = try MessageID(contract: request.messageID)
        guard let mode = DeletionMode(rawValue: request.mode) else {
            throw Failure.invalid("mode", reason: "must be all_participants or my_devices")
        }
        let query = DeleteMessage(
            app: caller.app, user: caller.user, message: id, mode: mode, origin: caller.origin,
            conversation: request.hasConversationID ? try ConversationID(contract: request.conversationID) : nil)
        guard let written = try await support.write(query, for: caller) else { return nil }
        let deleted = try MessageDeletion(written, in: caller.app)
        let identities = try await support.directory.basic(deleted.senders, in: caller.app, deadline: caller.deadline)
        if let change = deleted.change(of: id, by: caller, identities) { support.publisher.publish([change]) }
        support.publisher.notify(deleted.former)
        if let place = deleted.userPlace {
            let view = try await support.view(of: deleted.conversation, for: caller)
            let change = UserChange(
                appID: caller.app, user: caller.user, position: place.position, createdAt: place.createdAt,
                content: .messageHidden(id, view: view))
            support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(change))])
        }
        return written.place
            ?? LogPosition(position: deleted.place?.position, userPosition: deleted.userPlace?.position)
    }

    // MARK: Receipts

    private func giveReceipt(
        _ request: ProtoGiveReceiptRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.actor, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        guard let kind = ReceiptKind(rawValue: request.kind) else {
            throw Failure.invalid("type", reason: "must be read or delivery")
        }
        let id = try MessageID(contract: request.messageID)
        guard caller.idempotencyKey == nil else {
            return ProtoChangePlace(try await giveNamed(kind, to: id, by: caller))
        }
        return ProtoChangePlace(try await receipts.give(kind, by: caller.user, in: caller.app, to: id))
    }

    /// Gives a receipt with an idempotency key. It is not gathered with other receipts, because it is committed
    /// together with its key.
    private func giveNamed(_ kind: ReceiptKind, to message: MessageID, by caller: Caller) async throws -> LogPosition {
        let located = try await database.run(
            LocateMessages(app: caller.app, users: [caller.user.rawValue], messages: [message.rawValue]),
            deadline: caller.deadline)
        guard let row = located.first else {
            // The message may have been deleted since the first request.
            return try await support.idempotent(caller) { throw Failure.notFound("message") }
        }
        let given = try await bulkReceipts.give(kind, to: [message], in: row.conversationID, by: caller)
        guard given.ignored.isEmpty else { throw Failure.notFound("message") }
        return given.place
    }
}
