// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls by which an app's own server manages its users.
///
/// The server may send an idempotency key with each change. A key belongs to the server and to no user. A repetition
/// notifies no gateway again: changes are in logs, and gateways check the sessions of open sockets regularly.
struct UserHandler: CallHandler {
    private let support: ServiceContext
    private let announcer: IdentityAnnouncer
    private let erasures: Erasures
    private var database: Database { support.database }

    /// The maximum number of sessions on a page.
    private static let pageLimit: Int32 = 101
    /// The number of users whose sessions are shortened in one transaction.
    private static let batch: Int64 = 1000
    /// The maximum number of ended sessions that gateways receive individually. Beyond it, all of the user's sockets
    /// are closed, including those of a new session.
    private static let noticeLimit = 100
    private static let pushLimit = 1000
    /// The number of users whose badges are counted in one statement.
    private static let badgeBatch = 50

    /// - Parameter erasures: the task to wake when there is a user to erase.
    init(_ support: ServiceContext, erasures: Erasures) {
        self.support = support
        self.erasures = erasures
        announcer = IdentityAnnouncer(directory: support.directory, publisher: support.publisher)
    }

    func register(on router: inout CallRouter) {
        router.register(UsersAPI.writeIdentity) { try await self.writeIdentity($0, in: $1) }
        router.register(UsersAPI.suspendUser) { try await self.suspend($0, in: $1) }
        router.register(UsersAPI.listSessions) { try await self.listSessions($0, in: $1) }
        router.register(UsersAPI.endSessions) { try await self.endSessions($0, in: $1) }
        router.register(UsersAPI.patchApp) { try await self.patchApp($0, in: $1) }
        router.register(UsersAPI.notify) { try await self.notify($0, in: $1) }
        router.register(UsersAPI.badge) { try await self.badge($0, in: $1) }
        router.register(UsersAPI.eraseUser) { try await self.erase($0, in: $1) }
    }

    private static func user(_ text: String) throws(Failure) -> UserID {
        guard let user = UserID(text) else { throw .notFound("user") }
        return user
    }

    private static func caller(_ app: Data, _ idempotencyKey: ProtoMutation?, _ context: RPCContext) throws -> Caller {
        try Caller(app: app, user: UserID.appServer.rawValue, idempotencyKey: idempotencyKey, context)
    }

    // MARK: Identities

    private func writeIdentity(_ request: ProtoWriteIdentityRequest, in context: RPCContext) async throws -> ProtoEmpty
    {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let (user, write) = (try Self.user(request.userID), try IdentityWrite(request))
        let query = WriteIdentity(
            app: caller.app, user: user, mode: write.mode, values: write.values, metadata: write.metadata,
            keys: write.keys)
        _ = try await support.idempotent(caller) {
            guard let written = try await support.write(query, for: caller) else { return nil }
            switch written.row.outcome {
            case "ok": break
            case "none": return .empty
            case "id_in_use": throw Failure(.idInUse, "This user has an identity already.")
            case "too_many_keys":
                throw Failure.invalid("metadata", reason: "would have more than \(IdentityLimits.metadataKeys) keys")
            default: throw Failure.notFound("identity")
            }
            guard let identity = try written.row.identity?.identity else { throw Failure.unexpected }
            support.directory.forget(user, in: caller.app)
            announcer.announce(identity, to: try written.row.logEntries?.entries, in: caller.app)
            return .empty
        }
        return ProtoEmpty()
    }

    // MARK: Access

    /// Suspends a user and closes their sockets, or lifts the suspension.
    private func suspend(_ request: ProtoSuspendUserRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let user = try Self.user(request.userID)
        let query = SuspendUser(app: caller.app, user: user, isSuspended: request.isSuspended)
        _ = try await support.idempotent(caller) {
            guard let written = try await support.write(query, for: caller) else { return nil }
            guard written.row.outcome != "not_found" else { throw Failure.notFound("user") }
            // Repeat the notice even if the user was already suspended; the first one may have been lost.
            if query.isSuspended { closeSockets(of: user, in: caller.app) }
            return .empty
        }
        return ProtoEmpty()
    }

    /// Makes all gateways discard the user's cached sessions and close their sockets.
    private func closeSockets(of user: UserID, in app: AppID) {
        support.publisher.notify([UserNotice(appID: app, user: user, content: .sessionEnded(tokenDigest: nil))])
    }

    private func listSessions(
        _ request: ProtoListSessionsRequest, in context: RPCContext
    ) async throws -> ProtoListSessionsResponse {
        let (app, user) = (try AppID(contract: request.appID), try Self.user(request.userID))
        let from = request.hasFromID ? UUID(contract: request.fromID) : nil
        let rows = try await database.run(
            ListSessions(
                app: app, user: user, pageSize: Int64(min(max(request.pageSize, 1), Self.pageLimit)), from: from),
            deadline: context.deadline
        )
        let header = try support.row(rows)
        // An ended session is not found either, because its place in the list is unknown.
        guard header.outcome == "ok" else { throw Failure.notFound("session") }
        return .with {
            $0.total = header.total ?? 0
            $0.sessions = rows.compactMap(\.session)
                .map { session in
                    .with {
                        $0.id = Data(uuid: session.sessionID)
                        $0.createdAt = session.createdAt.microseconds
                        $0.usedAt = session.usedAt.microseconds
                        $0.expiresAt = session.expiresAt.microseconds
                    }
                }
        }
    }

    private func endSessions(
        _ request: ProtoEndSessionsRequest, in context: RPCContext
    ) async throws -> ProtoEndSessionsResponse {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let user = try Self.user(request.userID)
        let query = EndUserSessions(
            app: caller.app, user: user, session: request.hasID ? UUID(contract: request.id) : nil)
        return try await support.idempotent(caller) {
            guard let written = try await support.write(query, for: caller) else { return nil }
            let digests = written.row.digests
            if digests.count > Self.noticeLimit {
                closeSockets(of: user, in: caller.app)
            } else {
                support.publisher.notify(
                    digests.map { UserNotice(appID: caller.app, user: user, content: .sessionEnded(tokenDigest: $0)) })
            }
            return .with { $0.ended = Int64(digests.count) }
        } answer: { _ in
            // The number of ended sessions is not stored. The named session existed.
            .with { $0.ended = 1 }
        }
    }

    private func patchApp(_ request: ProtoPatchAppRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let app = caller.app
        let query = SetApp(
            app: app, sessionTTL: request.hasSessionTtl ? request.sessionTtl : nil,
            badgeCounts: request.hasBadgeCounts ? request.badgeCounts : nil,
            badgeAnnouncements: request.hasBadgeAnnouncements ? request.badgeAnnouncements : nil,
            participantsAddedBy: request.hasParticipantsAddedBy ? request.participantsAddedBy : nil,
            strangerAdditionsPerHour: request.hasStrangerAdditionsPerHour ? request.strangerAdditionsPerHour : nil)
        _ = try await support.idempotent(caller) {
            guard let written = try await support.write(query, for: caller) else { return nil }
            guard written.row.outcome == "ok" else { throw Failure.invalidApp }
            return .empty
        }
        guard request.hasSessionTtl, request.sessionTtl > 0 else { return ProtoEmpty() }
        // A repetition runs this loop, too. It completes an interrupted first request, with the app's present setting.
        var last: String? = ""
        while let after = last {
            let rows = try await database.runExclusive(
                ShortenSessions(app: app, after: after, limit: Self.batch), deadline: context.deadline)
            last = try support.row(rows).last
        }
        return ProtoEmpty()
    }

    // MARK: Pushes and badges

    private func notify(_ request: ProtoNotifyRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        guard request.recipients.count <= Self.pushLimit else {
            throw Failure.invalid("recipients", reason: "names more than \(Self.pushLimit) users")
        }
        var users: [UserID] = []
        for text in request.recipients { users.append(try Self.user(text)) }
        _ = try await support.idempotent(caller) {
            let badges = try await badges(of: users, in: caller.app, deadline: caller.deadline)
            let query = PushNotification(
                app: caller.app, users: users, notification: request.notification, overrides: request.overrides,
                badges: badges)
            guard let written = try await support.write(query, for: caller) else { return nil }
            guard written.row.outcome == "ok" else {
                throw Failure(
                    .invalidOperation,
                    "No active webhook of this app takes the event Push, so nothing can send this notification.")
            }
            return .empty
        }
        return ProtoEmpty()
    }

    /// Returns the badges of users. They are counted before any lock is taken, in small batches, because a user with a
    /// thousand conversations takes milliseconds.
    /// - Returns: an empty array if no webhook of the app accepts pushes.
    private func badges(of users: [UserID], in app: AppID, deadline: ContinuousClock.Instant) async throws -> [Int64?] {
        var badges: [Int64?] = []
        for start in stride(from: 0, to: users.count, by: Self.badgeBatch) {
            let some = users[start..<min(start + Self.badgeBatch, users.count)]
            let rows = try await database.runExclusive(PushBadges(app: app, users: some), deadline: deadline)
            if rows.isEmpty { return [] }
            badges += rows.map(\.badge)
        }
        return badges
    }

    /// Sets the app's own count if the request has one, and returns the badge.
    private func badge(_ request: ProtoBadgeRequest, in context: RPCContext) async throws -> ProtoBadgeResponse {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let user = try Self.user(request.userID)
        if request.hasExternalUnreadCount {
            let query = SetBadge(app: caller.app, user: user, count: request.externalUnreadCount)
            _ = try await support.idempotent(caller) {
                guard let written = try await support.write(query, for: caller) else { return nil }
                guard written.row.outcome != "not_found" else { throw Failure.notFound("user") }
                return .empty
            }
        }
        let rows = try await database.runExclusive(GetBadge(app: caller.app, user: user), deadline: context.deadline)
        guard let row = rows.first else { throw Failure.notFound("user") }
        return .with {
            $0.externalUnreadCount = row.externalUnreadCount
            $0.unreadConversationCount = row.unreadConversationCount
            $0.unreadMessageCount = row.unreadMessageCount
        }
    }

    // MARK: Erasing

    private func erase(_ request: ProtoEraseUserRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Self.caller(request.appID, request.hasMutation ? request.mutation : nil, context)
        let user = try Self.user(request.userID)
        let query = EraseUser(app: caller.app, user: user)
        _ = try await support.idempotent(caller) {
            guard let written = try await support.write(query, for: caller) else { return nil }
            guard written.row.outcome == "ok" else { throw Failure.notFound("user") }
            support.directory.forget(user, in: caller.app)
            closeSockets(of: user, in: caller.app)
            announcer.announce(
                Identity(basic: BasicIdentity(userID: user)), to: try written.row.logEntries?.entries, in: caller.app)
            erasures.wake()
            return .empty
        }
        return ProtoEmpty()
    }
}
