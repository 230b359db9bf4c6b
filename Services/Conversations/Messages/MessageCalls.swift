// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import Postgres
import RPC
import SwiftProtobuf

/// Answers the calls about messages and receipts.
struct MessageCalls: Sendable {
    private let support: CallSupport
    private let receipts: ReceiptGatherer
    private var database: Database { support.database }

    init(_ support: CallSupport, receipts: ReceiptGatherer) {
        self.support = support
        self.receipts = receipts
    }

    /// Adds the methods to `router`.
    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.sendMessage) { try await self.send($0, $1) }
        router.register(ConversationsAPI.getMessage) { try await self.get($0, $1) }
        router.register(ConversationsAPI.listMessages) { try await self.list($0, $1) }
        router.register(ConversationsAPI.deleteMessage) { try await self.delete($0, $1) }
        router.register(ConversationsAPI.giveReceipt) { try await self.giveReceipt($0, $1) }
    }

    // MARK: Send

    private func send(_ request: ProtoSendMessageRequest, _ context: RPCContext) async throws -> ProtoSendMessageResponse {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let (id, conversation) = (try MessageID(contract: request.id), try ConversationID(contract: request.conversationID))
        // Before anything is written: what cannot be read back must not be stored.
        var parts = try request.parts.map { part throws(ContractViolation) in try MessagePart(part) }
        let contents = parts.compactMap(\.contentID)
        if !contents.isEmpty { try await support.measure(&parts, by: caller, deadline: caller.deadline) }
        let stored = try MessageParts.encode(parts)
        let values: [Value] =
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(conversation.rawValue), .uuid(id.rawValue), .bytes(stored),
                request.hasNotification ? .text(request.notification) : .null,
            ] + caller.originValues + [contents.isEmpty ? .null : .uuidArray(contents.map(\.rawValue))]
        var (cursor, outcome) = try await store(values, in: conversation, isAlone: !contents.isEmpty, deadline: caller.deadline)
        try Refusal.check(outcome, what: "conversation")
        let sender = try await support.directory.basic([caller.user], in: caller.app, deadline: caller.deadline)
        guard outcome == "ok" else {
            cursor.skip(7)
            let bad = try cursor.optional(UUID.self).map { ContentID(rawValue: $0) }
            if let bad { throw MessageParts.unsendable(bad, in: parts) }
            throw try await existing(&cursor, caller)
        }
        let position = try cursor.position()
        let createdAt = try cursor.time()
        let ordinal: Int64 = try cursor.next()
        let recipients = try cursor.users().map { Model.Message.Recipient(userID: $0, status: $0 == caller.user ? .read : .sent) }
        let numbers = UserNumbers(uncounted: try cursor.next(), hidden: try cursor.next(), position: position)
        let message = Model.Message(
            id: id, conversationID: conversation, position: position, ordinal: ordinal,
            sender: sender[caller.user] ?? BasicIdentity(userID: caller.user), sentAt: createdAt, parts: parts, recipients: recipients,
            notification: request.hasNotification ? request.notification : nil, receiptPolicy: ReceiptPolicy(try cursor.next(Int64.self)))
        support.publisher.publish([
            caller.change(
                conversation, at: position, createdAt, messageCount: ordinal, numbers: [caller.user: numbers],
                .messageCreated(id: id, ordinal: ordinal, message))
        ])
        return .with { $0.message = ProtoMessage(message) }
    }

    /// - Parameter isAlone: with content it locks that too, and so has a transaction of its own. Others share one, in which no statement may wait for a
    ///   message id that another transaction is using: then this one is run again, alone.
    private func store(
        _ values: [Value], in conversation: ConversationID, isAlone: Bool, deadline: ContinuousClock.Instant
    ) async throws -> (cursor: RowCursor, outcome: String) {
        if !isAlone {
            let rows = try await database.run(.messageSend, values + [.bool(false)], lockKey: conversation.lockKey, deadline: deadline)
            var cursor = RowCursor(try support.row(rows))
            let outcome: String = try cursor.next()
            if outcome != "busy_id" { return (cursor, outcome) }
        }
        // One that waits for another transaction does so where no list and no replay needs a connection.
        let values = values + [.bool(true)]
        let rows =
            isAlone
            ? try await database.runAlone(.messageSend, values, deadline: deadline)
            : try await database.runLarge(.messageSend, values, deadline: deadline)
        var cursor = RowCursor(try support.row(rows))
        let outcome: String = try cursor.next()
        return (cursor, outcome)
    }

    private func existing(_ cursor: inout RowCursor, _ caller: Caller) async throws -> Failure {
        guard let row = try MessageRow(&cursor) else { return Failure(.idInUse, "The id is in use.") }
        let identities = try await support.directory.basic([row.sender], in: caller.app, deadline: caller.deadline)
        return Failure(.idInUse, "The id is in use.", detail: .message(row.message(identities)))
    }

    // MARK: Read

    private func get(_ request: ProtoGetMessageRequest, _ context: RPCContext) async throws -> ProtoMessage {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let rows = try await database.run(
            .messageGet,
            [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(try MessageID(contract: request.messageID).rawValue)],
            deadline: caller.deadline)
        guard let row = rows.first else { throw Failure.notFound("message") }
        var cursor = RowCursor(row)
        guard let message = try MessageRow(&cursor) else { throw Failure.notFound("message") }
        let identities = try await support.directory.basic([message.sender], in: caller.app, deadline: caller.deadline)
        return ProtoMessage(message.message(identities))
    }

    private func list(_ request: ProtoListMessagesRequest, _ context: RPCContext) async throws -> ProtoListMessagesResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let conversation = try ConversationID(contract: request.conversationID)
        let from = request.hasFromID ? try MessageID(contract: request.fromID) : nil
        let rows = try await database.runAlone(
            .messageList,
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(conversation.rawValue),
                .int8(Int64(min(max(request.pageSize, 1), ConversationCalls.pageLimit))), from.map { .uuid($0.rawValue) } ?? .null,
                CallSupport.bound(request.maxBytes),
            ], for: caller)
        let header = try support.row(rows)
        let outcome: String = try header.get(0)
        try Refusal.check(outcome, what: "conversation")
        if outcome == "unknown_cursor" { throw Failure.invalid("from_id", "is not the id of a message in this list") }
        let total: Int64 = try header.get(1)
        let messages = try rows.dropFirst()
            .compactMap { row in
                var cursor = RowCursor(row, at: 2)
                return try MessageRow(&cursor)
            }
        let identities = try await support.directory.basic(
            Array(Set(messages.map(\.sender))), in: caller.app, deadline: caller.deadline)
        return .with {
            $0.messages = messages.map { ProtoMessage($0.message(identities)) }
            $0.total = total
            // The last row says so.
            $0.isCut = messages.count < rows.count - 1
        }
    }

    // MARK: Delete

    private func delete(_ request: ProtoDeleteMessageRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try MessageID(contract: request.messageID)
        guard let mode = DeletionMode(rawValue: request.mode) else { throw Failure.invalid("mode", "must be all_participants or my_devices") }
        let rows = try await database.runAlone(
            .messageDelete,
            [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue), .text(mode.rawValue)] + caller.originValues,
            for: caller)
        let deleted = try MessageDeletion(rows)
        let identities = try await support.directory.basic(deleted.senders, in: caller.app, deadline: caller.deadline)
        if let change = deleted.change(of: id, by: caller, identities) { support.publisher.publish([change]) }
        if let place = deleted.userPlace {
            let view = try await support.view(of: deleted.conversation, for: caller.user, in: caller.app, deadline: caller.deadline)
            let change = UserChange(
                appID: caller.app, user: caller.user, position: place.position, createdAt: place.createdAt,
                content: .messageHidden(id, view: view))
            support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(change))])
        }
        return ProtoEmpty()
    }

    // MARK: Receipts

    private func giveReceipt(_ request: ProtoGiveReceiptRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Caller(app: request.appID, user: request.actor, context)
        guard let kind = ReceiptKind(rawValue: request.kind) else { throw Failure.invalid("type", "must be read or delivery") }
        try await receipts.give(kind, by: caller.user, in: caller.app, to: try MessageID(contract: request.messageID))
        return ProtoEmpty()
    }
}
