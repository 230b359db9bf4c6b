// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about announcements (docs/conformance.md §9).
struct AnnouncementHandler: CallHandler {
    private let support: ServiceContext
    private let announcements: Announcements
    private var database: Database { support.database }

    private static let recipientLimit = 100_000

    init(_ support: ServiceContext) {
        self.support = support
        announcements = Announcements(support)
    }

    func register(on router: inout CallRouter) {
        router.register(UsersAPI.announce) { try await self.announce($0, in: $1) }
        router.register(AccountAPI.getAnnouncement) { try await self.getAnnouncement($0, in: $1) }
        router.register(AccountAPI.listAnnouncements) { try await self.listAnnouncements($0, in: $1) }
        router.register(AccountAPI.giveAnnouncementReceipt) { try await self.giveAnnouncementReceipt($0, in: $1) }
        router.register(AccountAPI.deleteAnnouncement) { try await self.deleteAnnouncement($0, in: $1) }
    }

    // MARK: Send

    private func announce(_ request: ProtoAnnounceRequest, in context: RPCContext) async throws -> ProtoAnnounceResponse
    {
        let caller = try Self.caller(request, context)
        let sent = try await support.idempotent(caller) { () async throws -> Sent? in
            try await send(request, for: caller)
        } answer: { _ in
            try await find(request, for: caller)
        }
        return .with {
            $0.sentAt = sent.sentAt.microseconds
            $0.parts = sent.parts.map { ProtoMessagePart($0) }
            if case .user(let identity) = sent.sender { $0.sender = ProtoBasicIdentity(identity) }
        }
    }

    private struct Sent {
        let sentAt: StrataModel.Timestamp
        let parts: [MessagePart]
        let sender: MessageSender
        let isRepeated: Bool
    }

    private static func caller(_ request: ProtoAnnounceRequest, _ context: RPCContext) throws -> Caller {
        try Caller(
            app: request.appID, user: UserID.appServer.rawValue,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
    }

    /// Finds the announcement that was sent under the request's idempotency key.
    private func find(_ request: ProtoAnnounceRequest, for caller: Caller) async throws -> Sent {
        let query = GetSentAnnouncement(app: caller.app, announcement: try AnnouncementID(contract: request.id))
        let rows = try await database.run(query, deadline: caller.deadline)
        guard let row = rows.first else { throw Failure.notFound("announcement") }
        return Sent(
            sentAt: row.sentAt, parts: MessageContent.decode(row.parts),
            sender: try await sender(of: request, in: caller.app, deadline: caller.deadline).shown, isRepeated: true)
    }

    /// Sends an announcement.
    /// - Returns: nil if it was sent before under its idempotency key, or another request is sending it.
    private func send(_ request: ProtoAnnounceRequest, for caller: Caller) async throws -> Sent? {
        let app = caller.app
        let id = try AnnouncementID(contract: request.id)
        let recipients = try recipients(of: request)
        let parts = try request.parts.map { part throws(ContractViolation) in try MessagePart(part) }
        guard !parts.isEmpty else { throw Failure.missing("parts") }
        try await checkApp(app, deadline: caller.deadline)
        let sender = try await sender(of: request, in: app, deadline: caller.deadline)
        let query = Announce(
            app: app, announcement: id, senderName: sender.name, senderUser: sender.user, recipients: recipients,
            parts: try MessageParts.encode(parts), notification: request.hasNotification ? request.notification : nil,
            digest: try AnnouncementDigest.of(request))
        guard let written = try await support.write(query, for: caller) else { return nil }
        guard written.row.outcome != "id_in_use", let stored = written.row.sent else {
            throw Failure(.idInUse, "The id is in use.")
        }
        let sent = Sent(
            sentAt: stored.sentAt, parts: MessageContent.decode(stored.parts), sender: sender.shown,
            isRepeated: written.row.outcome == "repeated")
        guard !sent.isRepeated else { return sent }
        support.publisher.notify(
            (try written.row.logEntries?.entries ?? [])
                .map { entry in
                    let announcement = Announcement(
                        id: id, position: entry.position, sender: sender.shown, sentAt: sent.sentAt, parts: parts,
                        status: .sent,
                        notification: request.hasNotification ? request.notification : nil)
                    return notice(
                        in: app, to: entry.user, at: entry.position, createdAt: entry.createdAt,
                        content: .announced(announcement))
                })
        return sent
    }

    private func recipients(of request: ProtoAnnounceRequest) throws(Failure) -> [UserID] {
        guard !request.recipients.isEmpty else { throw .missing("recipients") }
        guard request.recipients.count <= Self.recipientLimit else {
            throw .invalid("recipients", reason: "names more than \(Self.recipientLimit) users")
        }
        var users: [UserID] = []
        for (index, name) in request.recipients.enumerated() {
            guard let user = UserID(name) else {
                throw .invalid("recipients.\(index)", reason: "is not the id of an identity")
            }
            users.append(user)
        }
        return users
    }

    /// Checks the app. No session has verified its id, which may come from an operator's command line.
    private func checkApp(_ app: AppID, deadline: ContinuousClock.Instant) async throws {
        let rows = try await database.run(GetAnnouncingApp(app: app), deadline: deadline)
        guard let row = rows.first else { throw Failure.invalidApp }
        guard !row.suspended else { throw Failure.appSuspended }
    }

    private struct Sender {
        var name: String?
        var user: UserID?
        let shown: MessageSender
    }

    private func sender(
        of request: ProtoAnnounceRequest, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws -> Sender {
        switch request.sender {
        case .senderName(let name) where !name.isEmpty: return Sender(name: name, shown: .name(name))
        case .senderUserID(let text):
            guard let user = UserID(text),
                let found = try await support.directory.find(user, in: app, deadline: deadline)
            else {
                throw Failure.invalid("sender_id", reason: "is not the id of a user of this app")
            }
            return Sender(user: user, shown: .user(found.identity.basic))
        case .senderName, nil: throw Failure.missing("sender")
        }
    }

    // MARK: Read

    private func getAnnouncement(
        _ request: ProtoGetAnnouncementRequest, in context: RPCContext
    ) async throws -> ProtoAnnouncement {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let id = try AnnouncementID(contract: request.announcementID)
        guard let announcement = try await announcements.find(id, for: caller) else {
            throw Failure.notFound("announcement")
        }
        return ProtoAnnouncement(announcement)
    }

    private func listAnnouncements(
        _ request: ProtoListAnnouncementsRequest, in context: RPCContext
    ) async throws -> ProtoListAnnouncementsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let from = request.hasFromID ? try AnnouncementID(contract: request.fromID) : nil
        let rows = try await database.runExclusive(
            ListAnnouncements(
                app: caller.app, user: caller.user,
                pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)), from: from,
                maxBytes: ServiceContext.bound(request.maxBytes)), for: caller)
        let header = try support.row(rows)
        guard header.outcome == "ok" else {
            throw Failure.invalid("from_id", reason: "is not the id of an announcement in this list")
        }
        let entries = rows.dropFirst().compactMap(\.announcement)
        // If the page is cut or the list continues after it, a last row without an announcement has the outcome "more",
        // the last id, or both.
        let end = entries.count < rows.count - 1 ? rows.last : nil
        let found = try await announcements.read(entries, in: caller.app, deadline: caller.deadline)
        return .with {
            $0.total = header.total ?? 0
            $0.announcements = found.map { ProtoAnnouncement($0) }
            $0.isCut = end?.outcome == "more"
            $0.end = ProtoPageEnd(lastID: end?.lastID.map { Data($0) })
        }
    }

    // MARK: Receipts and removal

    private func giveAnnouncementReceipt(
        _ request: ProtoGiveAnnouncementReceiptRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        let id = try AnnouncementID(contract: request.announcementID)
        guard let kind = ReceiptKind(rawValue: request.kind) else {
            throw Failure.invalid("type", reason: "must be read or delivery")
        }
        let status: RecipientStatus = kind == .read ? .read : .delivered
        return try await write(
            GiveAnnouncementReceipt(
                app: caller.app, user: caller.user, announcement: id, status: Int64(status.rawValue)), for: caller,
            notifying: .announcementStatus(id, status))
    }

    private func deleteAnnouncement(
        _ request: ProtoDeleteAnnouncementRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.userID, idempotencyKey: request.hasMutation ? request.mutation : nil,
            context)
        let id = try AnnouncementID(contract: request.announcementID)
        return try await write(
            RemoveAnnouncement(app: caller.app, user: caller.user, announcement: id), for: caller,
            notifying: .announcementDeleted(id))
    }

    /// Writes a change in the user's own log, once for its idempotency key, and notifies the user's gateways of
    /// `content`.
    private func write<Query: WriteQuery>(
        _ query: Query, for caller: Caller, notifying content: UserChange.Content
    ) async throws -> ProtoChangePlace where Query.Row == UserEntryRow {
        let place = try await support.idempotent(caller) { () async throws -> LogPosition? in
            guard let written = try await support.write(query, for: caller) else { return nil }
            let outcome = written.row.outcome
            try Refusal.check(outcome, what: "announcement")
            guard outcome == "ok", let place = written.row.place else { return written.place ?? .empty }
            support.publisher.notify([
                notice(
                    in: caller.app, to: caller.user, at: place.position, createdAt: place.createdAt, content: content)
            ])
            return written.place ?? LogPosition(userPosition: place.position)
        }
        return ProtoChangePlace(place)
    }

    private func notice(
        in app: AppID, to user: UserID, at position: Position, createdAt: StrataModel.Timestamp,
        content: UserChange.Content
    ) -> UserNotice {
        UserNotice(
            appID: app, user: user,
            content: .change(
                UserChange(appID: app, user: user, position: position, createdAt: createdAt, content: content)))
    }
}
