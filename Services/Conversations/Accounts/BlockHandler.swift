// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about blocks between users. The writes of messages and conversations apply blocks to them;
/// gateways apply blocks to typing and presence.
struct BlockHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(BlocksAPI.changeBlocks) { try await self.change($0, in: $1) }
        router.register(BlocksAPI.listBlocks) { try await self.list($0, in: $1) }
        router.register(BlocksAPI.blockPairs) { try await self.pairs($0, in: $1) }
    }

    // MARK: Change

    /// Carries out the change once for its idempotency key. A repetition is answered from the record.
    private func change(_ request: ProtoChangeBlocksRequest, in context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        return ProtoChangePlace(try await support.idempotent(caller) { try await carryOut(request, for: caller) })
    }

    /// Writes the change and notifies the gateways of the users concerned.
    /// - Returns: the change's log position; ``LogPosition/empty`` if nothing changed. nil if it was committed earlier
    ///   with the same idempotency key, or if another request is committing it.
    private func carryOut(_ request: ProtoChangeBlocksRequest, for caller: Caller) async throws -> LogPosition? {
        if let mostNames = support.quotas.blocked.map({ 4 * $0 + 1000 }),
            request.operations.reduce(0, { $0 + $1.userIds.count }) > mostNames
        {
            throw Failure.invalid("blocks", reason: "names more than \(mostNames) users in all operations together")
        }
        for name in request.operations.flatMap(\.userIds) where UserID(name) == nil {
            throw Failure.invalid("blocks", reason: "has an element that is not a user id")
        }
        if request.createsUser {
            try await support.directory.ensure([caller.user], in: caller.app, deadline: caller.deadline) {
                () throws(Failure) in true
            }
        }
        let query = ChangeBlocks(
            app: caller.app, user: caller.user, operations: try OperationsJSON.blocks(request.operations),
            limit: support.quotas.blocked)
        guard let written = try await support.write(query, for: caller) else { return nil }
        if written.row.outcome == "too_many" { throw QuotaRefusal.blocked.failure(support.quotas) }
        guard written.row.outcome == "ok", let change = written.row.change else { return written.place ?? .empty }
        support.publisher.notify(try change.notices(of: caller.user, in: caller.app))
        return written.place ?? LogPosition(userPosition: change.position)
    }

    // MARK: Read

    /// Lists one page of the blocked users with their basic identities, and the number of all blocked users.
    private func list(_ request: ProtoListBlocksRequest, in context: RPCContext) async throws -> ProtoListBlocksResponse
    {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let rows = try await database.runExclusive(
            ListBlocks(
                app: caller.app, user: caller.user,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)),
                from: request.hasFromUserID ? request.fromUserID : nil), for: caller)
        let total = try support.row(rows).total ?? 0
        let users = rows.compactMap(\.userID)
        let identities = try await support.directory.basic(users, in: caller.app, deadline: caller.deadline)
        return .with {
            $0.total = total
            $0.identities = users.map { ProtoBasicIdentity(identities[$0] ?? BasicIdentity(userID: $0)) }
        }
    }

    /// Lists one page of the users with whom the caller has a block, in either direction.
    private func pairs(
        _ request: ProtoListBlocksRequest, in context: RPCContext
    ) async throws -> ProtoBlockPairsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let pageSize = Int64(min(max(Int(request.pageSize), 1), BlocksAPI.pairsPageSize))
        let rows = try await database.runExclusive(
            BlockPairs(
                app: caller.app, user: caller.user, from: request.hasFromUserID ? request.fromUserID : nil,
                pageSize: pageSize), for: caller)
        return .with {
            $0.blocked = rows.filter(\.isOwn).map(\.userID)
            $0.blockedBy = rows.filter(\.isOfOther).map(\.userID)
        }
    }
}

/// Changes the users that a user has blocked.
struct ChangeBlocks: WriteQuery {
    let app: AppID
    let user: UserID
    /// The operations as JSON, see ``OperationsJSON/blocks(_:)``.
    let operations: String
    /// The maximum number of users that the user may have blocked. nil: no limit.
    let limit: Int?

    static let statement = WriteStatement(
        "block.change", columns: "r.*", function: "conversations.change_blocks", arguments: (1...4).map { "$\($0)" },
        record: WriteStatement.RecordExpressions(userPosition: "r.position"))

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .jsonb(operations), Value(limit)] }

    struct Row: Decodable {
        /// - `ok`: blocks have changed.
        /// - `none`: nothing changed.
        /// - `too_many`: refused, because the user would have blocked more users than the limit.
        let outcome: String
        let change: Change?

        struct Change: Decodable {
            let position: Position
            private let blocked: [UserID]
            private let unblocked: [UserID]
            /// The new entries in the logs of the user and of all users that were blocked or unblocked.
            private let logEntries: UserLogEntries

            /// Returns the notices for the gateways of the users concerned.
            func notices(of user: UserID, in app: AppID) throws(PostgresError) -> [UserNotice] {
                let own = UserChange.Content.blocksChanged(blocked: blocked, unblocked: unblocked)
                let blockedNow = Set(blocked)
                return try logEntries.entries.map { entry in
                    let change = UserChange(
                        appID: app, user: entry.user, position: entry.position, createdAt: entry.createdAt,
                        content: entry.user == user ? own : .blockedBy(user, isBlocked: blockedNow.contains(entry.user))
                    )
                    return UserNotice(appID: app, user: change.user, content: .change(change))
                }
            }
        }
    }
}

/// Lists one page of the users that a user has blocked.
struct ListBlocks: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last user of the previous page. nil: the first page.
    let from: String?

    static let statement = Statement(
        "block.list", sql: "SELECT * FROM conversations.list_blocks($1, $2, $3, $4)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }

    struct Row: Decodable {
        /// The number of all blocked users, in the first row.
        let total: Int64?
        /// A blocked user, in each other row.
        let userID: UserID?
    }
}

/// Lists one page of the users with whom a user has a block.
struct BlockPairs: PostgresQuery {
    let app: AppID
    let user: UserID
    /// The last user of the previous page. nil: the first page.
    let from: String?
    let pageSize: Int64

    static let statement = Statement(
        "block.pairs", sql: "SELECT * FROM conversations.block_pairs($1, $2, $3, $4)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(from ?? ""), .int8(pageSize)] }

    struct Row: Decodable {
        let userID: String
        /// True if the caller has blocked this user.
        let isOwn: Bool
        /// True if this user has blocked the caller.
        let isOfOther: Bool
    }
}
