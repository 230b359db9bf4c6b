// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import FoundationEssentials
import Mutations
import Postgres
import StrataModel
import SwiftProtobuf

/// Reads announcements as one recipient sees them.
struct Announcements: Sendable {
    private let support: ServiceContext

    init(_ support: ServiceContext) { self.support = support }

    /// Returns an announcement. nil if it was not sent to the caller, or the caller has removed it.
    func find(_ id: AnnouncementID, for caller: Caller) async throws -> Announcement? {
        let rows = try await support.database.run(
            GetAnnouncement(app: caller.app, user: caller.user, announcement: id), deadline: caller.deadline)
        return try await read(
            Array(rows), by: try rows.columns(of: GetAnnouncement.self), in: caller.app, deadline: caller.deadline
        )
        .first
    }

    /// Returns the announcements in these rows, with their senders' identities.
    func read(
        _ rows: [Row], by columns: AnnouncementColumns, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws -> [Announcement] {
        let senders = Set(try rows.compactMap { try columns.sender(in: $0) })
        let identities = try await support.directory.basic(Array(senders), in: app, deadline: deadline)
        return try rows.map { try columns.announcement(in: $0, identities: identities) }
    }
}

/// Reads whether the app is suspended. No row: the app does not exist.
struct GetAnnouncingApp: PostgresQuery {
    let app: AppID

    typealias Columns = AnnouncementAppColumns

    static let statement = Statement(
        "announcement.app", sql: "SELECT suspended FROM conversations.app WHERE id = $1", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue)] }
}

/// Sends an announcement to users of an app. Sending the same one again has no effect.
struct Announce: WriteQuery {
    let app: AppID
    let announcement: AnnouncementID
    let senderName: String?
    let senderUser: UserID?
    let recipients: [UserID]
    let parts: [UInt8]
    let notification: String?
    /// The digest of the request, which identifies a repetition.
    let digest: [UInt8]

    typealias Columns = AnnouncementSendColumns

    static let statement = WriteStatement(
        "announcement.send", columns: "r.*", function: "conversations.announce",
        arguments: ["$1", "$2", "$3", "$4", "$5::text[]", "$6", "$7", "$8"],
        place: WriteStatement.RecordExpressions(), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .uuid(announcement.rawValue), Value(senderName), Value(senderUser?.rawValue),
            .textArray(recipients.map(\.rawValue)), .bytes(parts), Value(notification), .bytes(digest),
        ]
    }
}

/// Reads a sent announcement. No row: it does not exist any longer.
struct GetSentAnnouncement: PostgresQuery {
    let app: AppID
    let announcement: AnnouncementID

    typealias Columns = SentAnnouncementColumns

    static let statement = Statement(
        "announcement.sent",
        sql: "SELECT a.sent_at, a.parts FROM conversations.announcement a WHERE a.id = $2 AND a.app_id = $1",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(announcement.rawValue)] }
}

/// The digest that identifies equal requests for an announcement.
enum AnnouncementDigest {
    /// Returns the SHA-256 of the sender, the notification, the sorted recipients, and the parts without their ids. Ids
    /// are omitted because they differ if the sender chose none.
    static func of(_ request: ProtoAnnounceRequest) throws -> [UInt8] {
        var same = ProtoAnnounceRequest()
        switch request.sender {
        case .senderName(let name): same.senderName = name
        case .senderUserID(let user): same.senderUserID = user
        case nil: break
        }
        same.recipients = Set(request.recipients.map { UserID(trusted: $0) }).sorted().map(\.rawValue)
        same.parts = request.parts.map { part in
            var part = part
            part.id = Data()
            return part
        }
        if request.hasNotification { same.notification = request.notification }
        let bytes: [UInt8] = try same.serializedBytes()
        return Array(SHA256.hash(data: bytes))
    }
}

struct GetAnnouncement: PostgresQuery {
    let app: AppID
    let user: UserID
    let announcement: AnnouncementID

    typealias Columns = AnnouncementColumns

    static let statement = Statement(
        "announcement.get", sql: "SELECT * FROM conversations.get_announcement($1, $2, $3)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .uuid(announcement.rawValue)] }
}

struct ListAnnouncements: PostgresQuery {
    let app: AppID
    let user: UserID
    let pageSize: Int64
    /// The last announcement of the previous page. nil: the first page.
    let from: AnnouncementID?
    /// The approximate maximum size of the answer in bytes. nil: no limit.
    let maxBytes: Int64?

    typealias Columns = AnnouncementListColumns

    static let statement = Statement(
        "announcement.list",
        sql:
            "SELECT r.outcome, r.total, r.last_id, (r.announcement).* FROM conversations.list_announcements_page($1, $2, $3, $4, $5) r",
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from?.rawValue), Value(maxBytes),
        ]
    }
}
