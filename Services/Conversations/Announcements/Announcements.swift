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
            .announcementGet, with: [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue)], deadline: caller.deadline)
        return try await read(Array(rows), by: try rows.columns(), in: caller.app, deadline: caller.deadline).first
    }

    /// The announcements in these rows.
    func read(
        _ rows: [Row], by columns: AnnouncementColumns, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws -> [Announcement] {
        let senders = Set(try rows.compactMap { try columns.sender(in: $0) })
        let identities = try await support.directory.basic(Array(senders), in: app, deadline: deadline)
        return try rows.map { try columns.announcement(in: $0, identities: identities) }
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
