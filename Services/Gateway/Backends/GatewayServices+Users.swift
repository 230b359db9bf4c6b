// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    /// The default time limit of a call.
    private static let patience = Duration.seconds(10)

    /// Requests data. Unlike a change, the request has no idempotency key.
    private func ask<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ trace: TraceID, within patience: Duration = patience,
        _ fill: (inout Request) -> Void
    ) async throws(Failure) -> Response {
        var request = Request()
        fill(&request)
        return try await conversations.call(endpoint, with: request, for: .within(patience, trace: trace))
    }

    /// Requests a change, which is applied once if it has an idempotency key.
    private func change<Request: ChangeRequest, Response>(
        _ endpoint: Endpoint<Request, Response>, as idempotencyKey: IdempotencyKey?, _ trace: TraceID,
        within patience: Duration = patience,
        _ fill: (inout Request) -> Void
    ) async throws(Failure) -> Response {
        var request = Request()
        fill(&request)
        return try await conversations.call(
            endpoint, with: request, for: .within(patience, trace: trace, as: idempotencyKey))
    }

    // MARK: Identities

    /// Returns the app's identity of a user, and whether the user is suspended.
    /// - Throws: `not_found` for a user that is unknown to the app.
    func user(_ key: UserKey, trace: TraceID) async throws(Failure) -> (identity: Identity, isSuspended: Bool) {
        let answer = try await ask(ServerAPI.findUser, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
        }
        return (Identity(answer.identity), answer.isSuspended)
    }

    /// - Parameter mode: `create`, `replace`, `patch` or `delete`.
    func writeIdentity(
        _ body: IdentityBody, mode: String, of key: UserKey, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) {
        _ = try await change(UsersAPI.writeIdentity, as: idempotencyKey, trace) { request in
            request.appID = Data(key.app)
            request.userID = key.user.rawValue
            request.mode = mode
            request.values = body.texts.map { ProtoIdentityValue(name: $0, value: $1) }
            request.keys = body.keys.map { ProtoIdentityValue(name: $0, value: $1) }
            if let metadata = body.metadata { request.metadata.values = metadata }
            if let kind = body.kind { request.isBot = kind == .bot }
        }
    }

    // MARK: Access

    /// Suspends a user, or lifts the suspension.
    func suspend(
        _ key: UserKey, _ isSuspended: Bool, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) {
        _ = try await change(UsersAPI.suspendUser, as: idempotencyKey, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
            $0.isSuspended = isSuspended
        }
        sessions.forget(key)
    }

    /// Returns a page of a user's sessions, the newest first.
    func userSessions(
        of key: UserKey, pageSize: Int, from: UUID?, trace: TraceID
    ) async throws(Failure) -> ListPage<[SessionSummary]> {
        let answer = try await ask(UsersAPI.listSessions, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
            // Request one more to learn whether there is another page.
            $0.pageSize = Int32(clamping: pageSize + 1)
            if let from { $0.fromID = Data(uuid: from) }
        }
        let page = try Self.converted { try answer.sessions.prefix(pageSize).map { try SessionSummary($0) } }
        let hasMore = answer.sessions.count > pageSize
        return ListPage(objects: page, total: Int(answer.total), nextFrom: hasMore ? page.last?.id.lowercaseText : nil)
    }

    /// Ends one session of a user, or all.
    /// - Returns: true if at least one session was ended.
    @discardableResult
    func endSessions(
        of key: UserKey, session: UUID?, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) -> Bool {
        let answer = try await change(UsersAPI.endSessions, as: idempotencyKey, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
            if let session { $0.id = Data(uuid: session) }
        }
        sessions.forget(key)
        return answer.ended > 0
    }

    func patchApp(
        _ app: AppID, _ patch: AppPatch, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) {
        // Updating all sessions of a large app takes long.
        _ = try await change(UsersAPI.patchApp, as: idempotencyKey, trace, within: .seconds(60)) {
            $0.appID = Data(app)
            if let value = patch.sessionTTL { $0.sessionTtl = value }
            if let value = patch.badgeCounts { $0.badgeCounts = value.rawValue }
            if let value = patch.badgeAnnouncements { $0.badgeAnnouncements = value }
            if let value = patch.participantsAddedBy { $0.participantsAddedBy = value.rawValue }
            if let value = patch.strangerAdditionsPerHour { $0.strangerAdditionsPerHour = value }
        }
    }

    // MARK: Announcements, notifications and badges

    /// Sends an announcement. A repetition of the request changes nothing.
    func announce(
        _ body: AnnouncementBody, as id: AnnouncementID, in app: AppID, named idempotencyKey: IdempotencyKey?,
        trace: TraceID
    ) async throws(Failure) -> (sender: MessageSender, sentAt: Timestamp, parts: [MessagePart]) {
        let answer = try await change(UsersAPI.announce, as: idempotencyKey, trace, within: .seconds(30)) {
            $0.appID = Data(app)
            $0.id = Data(id)
            switch body.sender {
            case .name(let name): $0.senderName = name
            case .user(let user): $0.senderUserID = user.rawValue
            }
            $0.recipients = body.recipients.map(\.rawValue)
            $0.parts = body.parts.map { ProtoMessagePart($0) }
            if let notification = body.notification { $0.notification = notification }
        }
        let parts = try Self.converted {
            try answer.parts.map { part throws(ContractViolation) in try MessagePart(part) }
        }
        let sender: MessageSender =
            switch body.sender {
            case .name(let name): .name(name)
            case .user(let user): .user(answer.hasSender ? BasicIdentity(answer.sender) : BasicIdentity(userID: user))
            }
        return (sender, Timestamp(microseconds: answer.sentAt), parts)
    }

    func notify(
        _ body: NotificationBody, in app: AppID, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) {
        _ = try await change(UsersAPI.notify, as: idempotencyKey, trace) {
            $0.appID = Data(app)
            $0.recipients = body.recipients.map(\.rawValue)
            $0.notification = body.notification
            $0.overrides = body.overrides
        }
    }

    /// Returns the user's unread counts.
    /// - Parameter count: the new external count of the app's own server; nil leaves it unchanged.
    func badge(
        of key: UserKey, setting count: Int64? = nil, as idempotencyKey: IdempotencyKey?, trace: TraceID
    ) async throws(Failure) -> BadgeSummary {
        let answer = try await change(UsersAPI.badge, as: idempotencyKey, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
            if let count { $0.externalUnreadCount = count }
        }
        return BadgeSummary(
            external: answer.externalUnreadCount, conversations: answer.unreadConversationCount,
            messages: answer.unreadMessageCount)
    }

    // MARK: Erasing

    func erase(_ key: UserKey, as idempotencyKey: IdempotencyKey?, trace: TraceID) async throws(Failure) {
        _ = try await change(UsersAPI.eraseUser, as: idempotencyKey, trace) {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
        }
        sessions.forget(key)
    }
}

extension ProtoIdentityValue {
    fileprivate init(name: String, value: String?) {
        self.init()
        self.name = name
        if let value { self.value = value }
    }
}

extension SessionSummary {
    fileprivate init(_ proto: ProtoUserSession) throws {
        guard let id = UUID(contract: proto.id) else { throw ContractViolation("UserSession.id") }
        self.init(
            id: id, createdAt: Timestamp(microseconds: proto.createdAt),
            lastUsedAt: Timestamp(microseconds: proto.usedAt),
            expiresAt: Timestamp(microseconds: proto.expiresAt))
    }
}
