// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// Reads announcements as one recipient sees them.
struct Announcements: Sendable {
    private let support: CallSupport

    init(_ support: CallSupport) { self.support = support }

    /// Nil if it was not sent to the caller, or if the caller has removed it.
    func find(_ id: AnnouncementID, for caller: Caller) async throws -> Announcement? {
        let rows = try await support.database.run(
            .announcementGet, [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue)], deadline: caller.deadline)
        return try await read(rows.map { $0 }, from: 0, in: caller.app, deadline: caller.deadline).first
    }

    /// The announcements in these rows, whose columns begin at `first`.
    func read(_ rows: [Row], from first: Int, in app: AppID, deadline: ContinuousClock.Instant) async throws -> [Announcement] {
        let senders = try rows.compactMap { try $0.getOptional(first + 3, as: String.self) }
        let identities = try await support.directory.basic(Set(senders).map { UserID(trusted: $0) }, in: app, deadline: deadline)
        return try rows.map { row in
            var cursor = RowCursor(row, at: first)
            let id = AnnouncementID(rawValue: try cursor.next())
            let position = try cursor.position()
            let name = try cursor.optional(String.self)
            let user = try cursor.optional(String.self).map { UserID(trusted: $0) }
            return Announcement(
                id: id, position: position, sender: user.map { .user(identities[$0] ?? BasicIdentity(userID: $0)) } ?? .name(name ?? ""),
                sentAt: try cursor.time(), parts: MessageRow.decode(try cursor.next()), status: .sent, notification: try cursor.optional()
            )
            .with(RecipientStatus(rawValue: Int(try cursor.next(Int64.self))) ?? .sent)
        }
    }
}

extension Announcement {
    fileprivate func with(_ status: RecipientStatus) -> Announcement {
        var copy = self
        copy.status = status
        return copy
    }
}

extension Statement {
    static let announcementApp = Statement(
        "announcement.app", sql: "SELECT suspended FROM conversations.app WHERE id = $1", isIdempotent: true)
    static let announcementSend = Statement(
        "announcement.send", sql: "SELECT * FROM conversations.send_announcement($1, $2, $3, $4, $5::text[], $6, $7)", isIdempotent: true)
    static let announcementGet = Statement(
        "announcement.get", sql: "SELECT * FROM conversations.get_announcement($1, $2, $3)", isIdempotent: true)
    static let announcementList = Statement(
        "announcement.list",
        sql: "SELECT r.outcome, r.total, r.last_id, (r.announcement).* FROM conversations.list_announcements_page($1, $2, $3, $4, $5) r",
        isIdempotent: true)
}
