// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// The columns of the type `announcement_row`: an announcement as one recipient sees it.
struct AnnouncementColumns: ColumnSet {
    private let id: Column<UUID>
    private let position: Column<Int64>
    private let senderName: Column<String>
    private let senderUser: Column<String>
    private let sentAt: Column<PostgresTimestamp>
    private let parts: Column<[UInt8]>
    private let notification: Column<String>
    private let status: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        id = try names.column("announcement_id")
        position = try names.column("position")
        senderName = try names.column("sender_name")
        senderUser = try names.column("sender_user")
        sentAt = try names.column("sent_at")
        parts = try names.column("parts")
        notification = try names.column("notification")
        status = try names.column("status")
    }

    func isPresent(in row: Row) throws(PostgresError) -> Bool { try row[optional: id] != nil }

    /// Returns the user who sent the announcement. nil: the sender has only a name.
    func sender(in row: Row) throws(PostgresError) -> UserID? {
        try row[optional: senderUser].map { UserID(trusted: $0) }
    }

    func announcement(in row: Row, identities: [UserID: BasicIdentity]) throws(PostgresError) -> Announcement {
        let (user, name) = (try sender(in: row), try row[optional: senderName])
        return Announcement(
            id: AnnouncementID(rawValue: try row[id]), position: Position(try row[position]),
            sender: user.map { .user(identities[$0] ?? BasicIdentity(userID: $0)) } ?? .name(name ?? ""),
            sentAt: StrataModel.Timestamp(try row[sentAt]), parts: MessageRow.decode(try row[parts]),
            status: RecipientStatus(rawValue: Int(try row[status])) ?? .sent,
            notification: try row[optional: notification])
    }
}

/// The result columns of ``Announce``.
struct AnnouncementSendColumns: ColumnSet {
    let outcome: Column<String>
    let sentAt: Column<PostgresTimestamp>
    /// The stored parts, encoded.
    let parts: Column<[UInt8]>
    let told: UserLogEntriesColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        sentAt = try names.column("sent_at")
        parts = try names.column("parts")
        told = try UserLogEntriesColumns(&names)
    }
}

/// The result columns of ``GetSentAnnouncement``.
struct SentAnnouncementColumns: ColumnSet {
    let sentAt: Column<PostgresTimestamp>
    /// The stored parts, encoded.
    let parts: Column<[UInt8]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        sentAt = try names.column("sent_at")
        parts = try names.column("parts")
    }
}

/// The result columns of ``GetAnnouncingApp``.
struct AnnouncementAppColumns: ColumnSet {
    let isSuspended: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        isSuspended = try names.column("suspended")
    }
}

/// The result columns of ``ListAnnouncements``.
struct AnnouncementListColumns: ColumnSet {
    let outcome: Column<String>
    let total: Column<Int64>
    let lastID: Column<UUID>
    let announcement: AnnouncementColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        total = try names.column("total")
        lastID = try names.column("last_id")
        announcement = try AnnouncementColumns(&names)
    }
}
