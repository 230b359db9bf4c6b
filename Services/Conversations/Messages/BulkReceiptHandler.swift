// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Metrics
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the call by which one user gives receipts for many messages of one conversation. Such a call becomes one
/// change immediately, whereas single receipts are gathered first.
struct BulkReceiptHandler: CallHandler {
    private let support: ServiceContext
    private let given = Counter(label: "strata_conversations_receipts_total")
    private let changes = Counter(label: "strata_conversations_receipt_changes_total")

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.giveReceipts) { try await self.giveReceipts($0, in: $1) }
    }

    private func giveReceipts(
        _ request: ProtoGiveReceiptsRequest, in context: RPCContext
    ) async throws -> ProtoGiveReceiptsResponse {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        let conversation = try ConversationID(contract: request.conversationID)
        guard let kind = ReceiptKind(rawValue: request.kind) else {
            throw Failure.invalid("type", reason: "must be read or delivery")
        }
        guard request.messageIds.count <= ConversationsAPI.maximumReceipts else {
            throw Failure.invalid("ids", reason: "names more than \(ConversationsAPI.maximumReceipts) messages")
        }
        let messages = try request.messageIds.map { try MessageID(contract: $0) }
        let given = try await give(kind, to: messages, in: conversation, by: caller)
        return .with {
            $0.ignored = given.ignored.map { Data($0) }
            $0.place = ProtoChangePlace(given.place)
        }
    }

    /// The result of giving receipts.
    struct Given {
        /// Messages that the user does not see in the conversation.
        var ignored: [MessageID]
        var place: LogPosition
    }

    /// Gives receipts, at most once under an idempotency key.
    func give(
        _ kind: ReceiptKind, to messages: [MessageID], in conversation: ConversationID, by caller: Caller
    ) async throws -> Given {
        let query = GiveReceipts(
            app: caller.app, user: caller.user, conversation: conversation, messages: messages,
            status: kind == .read ? 2 : 1,
            audienceLimit: support.receiptAudienceLimit,
            origin: caller.origin)
        given.increment(by: messages.count)
        return try await support.idempotent(caller) {
            // The statement takes as long as hundreds of single receipts, so it runs in its own transaction.
            guard let written = try await support.write(query, for: caller) else { return nil }
            let row = written.row
            try Refusal.check(row.outcome, what: "conversation")
            let change = try row.change?.change(of: conversation, in: caller.app, origin: caller.origin)
            if let change {
                changes.increment()
                support.publisher.publish([change])
            }
            return Given(ignored: row.ignored ?? [], place: written.place ?? LogPosition(position: change?.position))
        } answer: { earlier in
            Given(ignored: try await unseen(messages, in: conversation, by: caller), place: earlier.place)
        }
    }

    /// Returns the messages that the user at present does not see in the conversation.
    private func unseen(
        _ messages: [MessageID], in conversation: ConversationID, by caller: Caller
    ) async throws -> [MessageID] {
        let rows = try await support.database.runExclusive(
            SeenMessages(app: caller.app, user: caller.user, conversation: conversation, messages: messages),
            for: caller)
        let seen = Set(rows.map(\.id))
        return messages.filter { !seen.contains($0) }
    }
}
