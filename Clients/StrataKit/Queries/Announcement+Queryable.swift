// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Announcement: Queryable {
    /// The properties of announcements that queries can use.
    public struct QueryProperties: Sendable {
        /// The announcement's id.
        public let id = Query<Announcement>.Property<AnnouncementID, QueryOperators.Lists>(
            "identifier", .column("announcement.id"), .announcement)
        /// The position in the order of announcements.
        public let position = Query<Announcement>.Property<Int64, QueryOperators.Order>(
            "position", .column("announcement.position"), .integer)
        /// The time at which the operator sent the announcement.
        public let sentAt = Query<Announcement>.Property<Date, QueryOperators.Order>(
            "sentAt", .column("announcement.sent_at"), .date)
        /// The time at which the announcement reached this device.
        public let receivedAt = Query<Announcement>.Property<Date, QueryOperators.Order>(
            "receivedAt", .column("announcement.received_at"), .date)
        /// Always true: users cannot send announcements.
        public let isSent = Query<Announcement>.Property<Bool, QueryOperators.Equality>(
            "isSent", .column("TRUE"), .bool)
        /// True if this user has not read the announcement.
        public let isUnread = Query<Announcement>.Property<Bool, QueryOperators.Equality>(
            "isUnread", .column("announcement.is_unread"), .bool)
        /// The sender's properties.
        public let sender = SenderProperties<Announcement>(table: "announcement")
        /// The properties of the parts.
        public let parts = PartsProperties<Announcement>(owner: "announcement.id")

        fileprivate var all: [QueryProperty] {
            [id.property, position.property, sentAt.property, receivedAt.property, isSent.property, isUnread.property]
                + sender.all + parts.all
        }
    }

    /// The properties of announcements that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for announcements in the store.
    public static let querySource = QuerySource<Announcement>(
        tables: "announcement", columns: "announcement.*", condition: "announcement.is_visible",
        idColumn: "announcement.id",
        properties: queryProperties.all.byName, aliases: ["id": "identifier"].merging(Message.commonAliases) { $1 },
        metadataTable: nil,
        dependencies: [.announcement, .messagePart, .identity], kind: .announcement,
        id: { AnnouncementID(rawValue: $0[0]) },
        load: { reader, rows in try reader.announcements(rows.map(StoreReader.announcementRecord)) })
}
