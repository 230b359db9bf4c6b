// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about blocks between users. The effects of a block are implemented where messages and
/// conversations are written.
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

    private func change(_ request: ProtoChangeBlocksRequest, in context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        return ProtoChangePlace(try await support.idempotent(caller) { try await change(request, for: caller) })
    }

    private func change(_ request: ProtoChangeBlocksRequest, for caller: Caller) async throws -> LogPosition? {
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
        let (row, columns) = (written.rows[0], try written.columns(of: ChangeBlocks.self))
        let outcome = try row[columns.outcome]
        if outcome == "too_many" { throw QuotaRefusal.blocked.failure(support.quotas) }
        guard outcome == "ok" else { return written.place ?? .empty }
        support.publisher.notify(try columns.notices(in: row, of: caller.user, in: caller.app))
        if let place = written.place { return place }
        return LogPosition(userPosition: Position(try row[columns.position]))
    }

    // MARK: Read

    private func list(_ request: ProtoListBlocksRequest, in context: RPCContext) async throws -> ProtoListBlocksResponse
    {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let rows = try await database.runExclusive(
            ListBlocks(
                app: caller.app, user: caller.user,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)),
                from: request.hasFromUserID ? request.fromUserID : nil), for: caller)
        let (total, users) = try support.reading {
            let columns = try rows.columns(of: ListBlocks.self)
            return (
                try support.row(rows)[columns.total], try rows.dropFirst().map { UserID(trusted: try $0[columns.user]) }
            )
        }
        let identities = try await support.directory.basic(users, in: caller.app, deadline: caller.deadline)
        return .with {
            $0.total = total
            $0.identities = users.map { ProtoBasicIdentity(identities[$0] ?? BasicIdentity(userID: $0)) }
        }
    }

    private func pairs(
        _ request: ProtoListBlocksRequest, in context: RPCContext
    ) async throws -> ProtoBlockPairsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let pageSize = Int64(min(max(Int(request.pageSize), 1), BlocksAPI.pairsPageSize))
        let rows = try await database.runExclusive(
            BlockPairs(
                app: caller.app, user: caller.user, from: request.hasFromUserID ? request.fromUserID : "",
                pageSize: pageSize), for: caller)
        return try support.reading {
            let columns = try rows.columns(of: BlockPairs.self)
            var response = ProtoBlockPairsResponse()
            for row in rows {
                let user = try row[columns.user]
                if try row[columns.isOwn] { response.blocked.append(user) }
                if try row[columns.isOfOther] { response.blockedBy.append(user) }
            }
            return response
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

    typealias Columns = BlocksChangeColumns

    static let statement = WriteStatement(
        "block.change", columns: "r.*", function: "conversations.change_blocks", arguments: (1...4).map { "$\($0)" },
        place: WriteStatement.RecordExpressions(userPosition: "r.position"))

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .jsonb(operations), Value(limit)] }
}

/// The result columns of ``ChangeBlocks``.
struct BlocksChangeColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    private let blocked: Column<[String]>
    private let unblocked: Column<[String]>
    private let toldUsers: Column<[String]>
    private let toldPositions: Column<[Int64]>
    private let toldTimes: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        blocked = try names.column("blocked")
        unblocked = try names.column("unblocked")
        toldUsers = try names.column("told_users")
        toldPositions = try names.column("told_positions")
        toldTimes = try names.column("told_at")
    }

    /// Returns the notices for the gateways of the users concerned.
    func notices(in row: Row, of user: UserID, in app: AppID) throws(PostgresError) -> [UserNotice] {
        let blocked = try row[blocked].map { UserID(trusted: $0) }
        let own = UserChange.Content.blocksChanged(
            blocked: blocked, unblocked: try row[unblocked].map { UserID(trusted: $0) })
        let blockedNow = Set(blocked)
        return zip(try row[toldUsers].map { UserID(trusted: $0) }, zip(try row[toldPositions], try row[toldTimes]))
            .map { told, place in
                let change = UserChange(
                    appID: app, user: told, position: Position(place.0),
                    createdAt: StrataModel.Timestamp(microseconds: place.1),
                    content: told == user ? own : .blockedBy(user, isBlocked: blockedNow.contains(told)))
                return UserNotice(appID: app, user: change.user, content: .change(change))
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

    typealias Columns = BlocksListColumns

    static let statement = Statement(
        "block.list", sql: "SELECT * FROM conversations.list_blocks($1, $2, $3, $4)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }
}

/// The result columns of ``ListBlocks``: the total in the first row, then a user in each row.
struct BlocksListColumns: ColumnSet {
    let total: Column<Int64>
    let user: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        total = try names.column("total")
        user = try names.column("user_id")
    }
}

/// Lists one page of the users with whom a user has a block.
struct BlockPairs: PostgresQuery {
    let app: AppID
    let user: UserID
    /// The last user of the previous page. Empty: the first page.
    let from: String
    let pageSize: Int64

    typealias Columns = BlockPairsColumns

    static let statement = Statement(
        "block.pairs", sql: "SELECT * FROM conversations.block_pairs($1, $2, $3, $4)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(from), .int8(pageSize)] }
}

/// The result columns of ``BlockPairs``.
struct BlockPairsColumns: ColumnSet {
    let user: Column<String>
    /// True if the caller has blocked this user.
    let isOwn: Column<Bool>
    /// True if this user has blocked the caller.
    let isOfOther: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        user = try names.column("user_id")
        isOwn = try names.column("is_own")
        isOfOther = try names.column("is_of_other")
    }
}
