// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Announcement: Queryable {
    /// The properties of announcements that queries can name.
    public struct QueryProperties: Sendable {
        /// Its id.
        public let id = Query<Announcement>.Property<AnnouncementID, QueryOperators.Lists>("identifier", .column("announcement.id"), .announcement)
        /// Its place among the announcements.
        public let position = Query<Announcement>.Property<Int64, QueryOperators.Order>("position", .column("announcement.position"), .integer)
        /// When it was sent.
        public let sentAt = Query<Announcement>.Property<Date, QueryOperators.Order>("sentAt", .column("announcement.sent_at"), .date)
        /// When it arrived on this device.
        public let receivedAt = Query<Announcement>.Property<Date, QueryOperators.Order>("receivedAt", .column("announcement.received_at"), .date)
        /// Always true: users cannot send announcements.
        public let isSent = Query<Announcement>.Property<Bool, QueryOperators.Equality>("isSent", .column("TRUE"), .bool)
        /// Whether this user has not read it.
        public let isUnread = Query<Announcement>.Property<Bool, QueryOperators.Equality>("isUnread", .column("announcement.is_unread"), .bool)
        /// Its sender.
        public let sender = SenderProperties<Announcement>(table: "announcement")
        /// Its parts.
        public let parts = PartsProperties<Announcement>(owner: "announcement.id")

        fileprivate var all: [QueryProperty] {
            [id.property, position.property, sentAt.property, receivedAt.property, isSent.property, isUnread.property] + sender.all + parts.all
        }
    }

    /// The properties of announcements that queries can name.
    public static let queryProperties = QueryProperties()

    /// Announcements in the store.
    public static let querySource = QuerySource<Announcement>(
        tables: "announcement", columns: "announcement.*", condition: "announcement.is_visible", idColumn: "announcement.id",
        properties: queryProperties.all.byName, aliases: ["id": "identifier"].merging(Message.commonAliases) { $1 }, metadataTable: nil,
        dependencies: [.announcement, .messagePart, .identity], kind: .announcement, id: { AnnouncementID(rawValue: $0[0]) },
        load: { reader, rows in try reader.announcements(rows.map(StoreReader.announcementRecord)) })
}
