// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import DatabaseKit
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
        return try await read(rows, in: caller.app, deadline: caller.deadline).first
    }

    /// Returns the announcements in these rows, with their senders' identities.
    func read(
        _ rows: [AnnouncementRow], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws -> [Announcement] {
        let senders = Set(rows.compactMap(\.senderUser))
        let identities = try await support.directory.basic(Array(senders), in: app, deadline: deadline)
        return rows.map { $0.announcement(identities) }
    }
}

/// The columns of the type `announcement_row`: an announcement as one recipient sees it.
struct AnnouncementRow: Decodable {
    private let announcementID: AnnouncementID
    private let position: Position
    private let senderName: String?
    /// The user who sent the announcement. nil: the sender has only a name.
    let senderUser: UserID?
    private let sentAt: StrataModel.Timestamp
    private let parts: [UInt8]
    private let notification: String?
    private let status: Int

    func announcement(_ identities: [UserID: BasicIdentity]) -> Announcement {
        Announcement(
            id: announcementID, position: position,
            sender: senderUser.map { .user(identities[$0] ?? BasicIdentity(userID: $0)) } ?? .name(senderName ?? ""),
            sentAt: sentAt, parts: MessageContent.decode(parts), status: RecipientStatus(rawValue: status) ?? .sent,
            notification: notification)
    }
}

/// Reads whether the app is suspended. No row: the app does not exist.
struct GetAnnouncingApp: PostgresQuery {
    let app: AppID

    static let statement = Statement(
        "announcement.app", sql: "SELECT suspended FROM conversations.app WHERE id = $1", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue)] }

    struct Row: Decodable {
        let suspended: Bool
    }
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

    static let statement = WriteStatement(
        "announcement.send", columns: "r.*", function: "conversations.announce",
        arguments: ["$1", "$2", "$3", "$4", "$5::text[]", "$6", "$7", "$8"],
        record: WriteStatement.RecordExpressions(), isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .uuid(announcement.rawValue), Value(senderName), Value(senderUser?.rawValue),
            .textArray(recipients.map(\.rawValue)), .bytes(parts), Value(notification), .bytes(digest),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let sent: GetSentAnnouncement.Row?
        let logEntries: UserLogEntries?
    }
}

/// Reads a sent announcement. No row: it does not exist any longer.
struct GetSentAnnouncement: PostgresQuery {
    let app: AppID
    let announcement: AnnouncementID

    static let statement = Statement(
        "announcement.sent",
        sql: "SELECT a.sent_at, a.parts FROM conversations.announcement a WHERE a.id = $2 AND a.app_id = $1",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(announcement.rawValue)] }

    struct Row: Decodable {
        let sentAt: StrataModel.Timestamp
        /// The stored parts, encoded.
        let parts: [UInt8]
    }
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

    typealias Row = AnnouncementRow

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

    static let statement = Statement(
        "announcement.list",
        sql: """
            SELECT r.outcome, r.total, r.last_id, (r.announcement).*
            FROM conversations.list_announcements_page($1, $2, $3, $4, $5) r
            """,
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .text(user.rawValue), .int8(pageSize), Value(from?.rawValue), Value(maxBytes),
        ]
    }

    struct Row: Decodable {
        let outcome: String?
        let total: Int64?
        let lastID: AnnouncementID?
        let announcement: AnnouncementRow?
    }
}
