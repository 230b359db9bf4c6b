// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about following (docs/conformance.md §4.4).
struct FollowingHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    private static let batchLimit = 1000

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.listFollowed) { try await self.listFollowed($0, in: $1) }
        router.register(ConversationsAPI.follow) { try await self.follow($0, in: $1) }
        router.register(ConversationsAPI.unfollow) { try await self.unfollow($0, in: $1) }
        router.register(ConversationsAPI.isFollowed) { try await self.isFollowed($0, in: $1) }
        router.register(ConversationsAPI.followed) { try await self.listAllFollowed($0, in: $1) }
    }

    private func listFollowed(
        _ request: ProtoListFollowedRequest, in context: RPCContext
    ) async throws -> ProtoListFollowedResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let rows = try await database.runExclusive(
            ListFollowed(
                app: caller.app, user: caller.user,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)),
                from: request.hasFromUserID ? request.fromUserID : nil), for: caller)
        let header = try support.row(rows)
        guard header.outcome == "ok" else {
            throw Failure.invalid("from_id", reason: "is not the id of an identity in this list")
        }
        return try .with {
            $0.total = header.total ?? 0
            $0.identities = try rows.dropFirst().compactMap { try $0.identity?.identity }.map { ProtoIdentity($0) }
        }
    }

    private func follow(_ request: ProtoFollowRequest, in context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        return ProtoChangePlace(try await support.idempotent(caller) { try await carryOut(request, for: caller) })
    }

    /// Writes the change and notifies the user's gateways.
    /// - Returns: the change's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(_ request: ProtoFollowRequest, for caller: Caller) async throws -> LogPosition? {
        guard request.followed.count <= Self.batchLimit else {
            throw Failure.invalid("user_ids", reason: "names more than \(Self.batchLimit) users")
        }
        let users = try request.followed.map { text in
            guard let user = UserID(text) else { throw Failure.notFound("identity") }
            return user
        }
        let query = Follow(app: caller.app, user: caller.user, users: users, limit: support.quotas.followed)
        guard let written = try await support.write(query, for: caller) else { return nil }
        guard written.row.outcome == "ok" else { throw QuotaRefusal.followed.failure(support.quotas) }
        if written.rows.count == 1 { return written.place ?? .empty }
        let identities = try await support.directory.full(users, in: caller.app, deadline: caller.deadline)
        var place = LogPosition.empty
        let notices = written.rows.compactMap(\.entry)
            .map { entry in
                place.userPosition = max(entry.place.position, place.userPosition ?? entry.place.position)
                let followed = identities[entry.followed] ?? Identity(basic: BasicIdentity(userID: entry.followed))
                return notice(to: caller, at: entry.place, content: .followed(followed))
            }
        support.publisher.notify(notices)
        return written.place ?? place
    }

    private func unfollow(_ request: ProtoUnfollowRequest, in context: RPCContext) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        return ProtoChangePlace(try await support.idempotent(caller) { try await carryOut(request, for: caller) })
    }

    /// Writes the change and notifies the user's gateways.
    /// - Returns: the change's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(_ request: ProtoUnfollowRequest, for caller: Caller) async throws -> LogPosition? {
        let query = Unfollow(app: caller.app, user: caller.user, followed: request.followed)
        guard let written = try await support.write(query, for: caller) else { return nil }
        guard written.row.outcome == "ok", let place = written.row.place else { return written.place ?? .empty }
        support.publisher.notify([
            notice(to: caller, at: place, content: .unfollowed(UserID(trusted: request.followed)))
        ])
        return written.place ?? LogPosition(userPosition: place.position)
    }

    private func isFollowed(
        _ request: ProtoIsFollowedRequest, in context: RPCContext
    ) async throws -> ProtoIsFollowedResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let isFollowed = try await support.isFollowed(UserID(trusted: request.followed), by: caller)
        return .with { $0.isFollowed = isFollowed }
    }

    private func listAllFollowed(
        _ request: ProtoFollowedRequest, in context: RPCContext
    ) async throws -> ProtoFollowedResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let rows = try await database.runExclusive(
            ListAllFollowed(app: caller.app, user: caller.user), for: caller)
        return .with { $0.userIds = rows.map(\.userID.rawValue) }
    }

    private func notice(to caller: Caller, at place: LogPlace, content: UserChange.Content) -> UserNotice {
        UserNotice(
            appID: caller.app, user: caller.user,
            content: .change(
                UserChange(
                    appID: caller.app, user: caller.user, position: place.position, createdAt: place.createdAt,
                    content: content)))
    }
}

extension ServiceContext {
    func isFollowed(_ user: UserID, by caller: Caller) async throws -> Bool {
        let rows = try await database.runExclusive(
            IsFollowed(app: caller.app, user: caller.user, followed: user), for: caller)
        return try row(rows).answer
    }

    /// Returns the members of `users` whom the caller follows at present, with one read-only statement.
    func followed(_ users: [UserID], by caller: Caller) async throws(Failure) -> Set<UserID> {
        if users.isEmpty { return [] }
        let rows = try await database.run(
            FollowedAmong(app: caller.app, user: caller.user, users: users), deadline: caller.deadline)
        return Set(rows.map(\.userID))
    }
}

/// Lists one page of the users that a user follows.
struct ListFollowed: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last user of the previous page. nil: the first page.
    let from: String?

    static let statement = Statement(
        "follow.list",
        sql: """
            SELECT f.outcome, f.total, \(IdentityRow.selected(from: "(f.profile)"))
            FROM conversations.list_followed($1, $2, $3, $4) f
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from)] }

    struct Row: Decodable {
        let outcome: String?
        let total: Int64?
        let identity: IdentityRow?
    }
}

struct IsFollowed: PostgresQuery {
    let app: AppID
    let user: UserID
    let followed: UserID

    typealias Row = AnswerRow

    static let statement = Statement(
        "follow.check", sql: "SELECT conversations.is_followed($1, $2, $3) AS answer", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .text(followed.rawValue)] }
}

/// Finds the members of `users` that a user follows. If `unnest` contained the function call, the planner would call it
/// once more to estimate the number of rows.
struct FollowedAmong: PostgresQuery {
    let app: AppID
    let user: UserID
    let users: [UserID]

    static let statement = Statement(
        "follow.among",
        sql: """
            SELECT u.user_id
            FROM (SELECT conversations.followed_among($1, $2, $3::text[]) AS ids OFFSET 0) f
            CROSS JOIN LATERAL unnest(f.ids) u(user_id)
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .textArray(users.map(\.rawValue))] }

    struct Row: Decodable {
        let userID: UserID
    }
}

struct ListAllFollowed: PostgresQuery {
    let app: AppID
    let user: UserID

    typealias Row = FollowedAmong.Row

    static let statement = Statement(
        "follow.all", sql: "SELECT * FROM conversations.followed($1, $2)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue)] }
}
