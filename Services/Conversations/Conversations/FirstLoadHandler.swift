// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the call of a client's first load: a page of conversations with messages of each. One statement reads
/// everything.
struct FirstLoadHandler: CallHandler {
    private let support: ServiceContext

    /// The maximum number of messages with one conversation, even if more are unread.
    static let messagesLimit: Int64 = 1000

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.loadConversations) { try await self.loadConversations($0, in: $1) }
    }

    private struct Item {
        let view: ViewRow
        let isCut: Bool
        /// Messages, newest first, without the view's last message.
        var earlier: [MessageRow] = []
    }

    private func loadConversations(
        _ request: ProtoLoadConversationsRequest, in context: RPCContext
    ) async throws -> ProtoLoadConversationsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let from = request.hasFromID ? try ConversationID(contract: request.fromID) : nil
        let rows = try await support.database.runExclusive(
            LoadConversations(
                app: caller.app, user: caller.user, byLastMessage: request.byLastMessage,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)), from: from,
                messages: request.hasMessages ? min(max(Int64(request.messages), 1), Self.messagesLimit) : nil,
                messagesLimit: Self.messagesLimit,
                maxBytes: ServiceContext.bound(request.maxBytes)), for: caller)
        let header = try support.row(rows)
        guard header.outcome != "unknown_cursor" else { throw ConversationHandler.unknownCursor }
        let (items, hasMore) = Self.items(rows.dropFirst())
        let users = Set(items.flatMap { item in item.view.users + item.earlier.flatMap(\.users) })
        let identities = try await support.directory.basic(Array(users), in: caller.app, deadline: caller.deadline)
        let epoch = try await support.epoch.current(for: caller.app, deadline: caller.deadline)
        return .with {
            $0.items = items.map { item in
                .with {
                    $0.view = item.view.proto(identities, epoch: epoch)
                    $0.earlier = item.earlier.map { ProtoMessage($0.message(identities)) }
                    $0.isCut = item.isCut
                }
            }
            $0.total = header.total ?? 0
            $0.end = ProtoPageEnd(lastID: hasMore ? items.last.map { Data($0.view.id) } : nil)
        }
    }

    /// Reads the rows. A row is a conversation, a message of the preceding conversation, or the mark that the list
    /// continues.
    private static func items(
        _ rows: some Sequence<LoadConversations.Row>
    ) -> (items: [Item], hasMore: Bool) {
        var items: [Item] = []
        var hasMore = false
        for row in rows {
            if row.outcome == "more" { hasMore = true }
            if let view = row.view {
                items.append(Item(view: view, isCut: row.isCut ?? false))
            } else if let message = row.message, !items.isEmpty {
                items[items.count - 1].earlier.append(message)
            }
        }
        return (items, hasMore)
    }
}
