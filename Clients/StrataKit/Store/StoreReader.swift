// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// Reads from one consistent state of the store, inside a read or a write transaction.
struct StoreReader {
    let db: Database
    let me: UserID
    /// The folder for downloaded content; nil for an in-memory store.
    let contentFolder: URL?
    /// The client that the methods of snapshots call.
    var owner = SnapshotOwner(nil)

    // MARK: Records

    /// Returns the visible state of a conversation, even if it is hidden from the app.
    func conversationRecord(_ id: ConversationID) throws -> ConversationRecord? {
        try db.cachedStatement(sql: "SELECT * FROM conversation WHERE id = ?")
            .one([id.blob], in: db) { Self.conversationRecord($0) }
    }

    /// Returns the visible state of a message.
    func messageRecord(_ id: MessageID) throws -> MessageRecord? {
        let record = try db.cachedStatement(sql: "SELECT * FROM message WHERE id = ?")
            .one([id.blob], in: db) { Self.messageRecord($0) }
        guard var record else { return nil }
        record.parts = try parts(of: id.rawValue)
        return record
    }

    func parts(of owner: UUID) throws -> [PartRecord] {
        try db.cachedStatement(sql: "SELECT * FROM part WHERE message = ? ORDER BY idx")
            .all([owner.data], in: db) { Self.partRecord($0) }
    }

    func identityRecord(_ user: UserID) throws -> IdentityRecord? {
        try db.cachedStatement(sql: "SELECT * FROM identity WHERE user_id = ?")
            .one([user.rawValue], in: db) { Self.identityRecord($0) }
    }

    func announcementRecord(_ id: AnnouncementID) throws -> AnnouncementRecord? {
        let record = try db.cachedStatement(sql: "SELECT * FROM announcement WHERE id = ?")
            .one([id.blob], in: db) { Self.announcementRecord($0) }
        guard var record else { return nil }
        record.parts = try parts(of: id.rawValue)
        return record
    }

    // MARK: Visible objects

    /// Returns the conversation with this current or previous id; nil if it is unknown or not visible.
    func conversation(_ id: ConversationID) throws -> Conversation? {
        guard let record = try conversationRecord(try resolve(id)), record.isVisible else { return nil }
        return try conversation(record)
    }

    /// Returns a conversation with its participants and its newest message on this device.
    func conversation(_ record: ConversationRecord) throws -> Conversation {
        let participants = try Set(record.participants.map { try identity($0) })
        let last = try lastMessage(of: record.id).map { try message($0) }
        return conversation(record, participants: participants, lastMessage: last, hasUnread: try hasUnread(record.id))
    }

    func conversation(
        _ record: ConversationRecord, participants: Set<Identity>, lastMessage: Message?, hasUnread: Bool
    ) -> Conversation {
        var conversation = Conversation(
            id: record.id, participants: participants, createdAt: record.createdAt.date, lastMessage: lastMessage,
            hasUnreadMessages: hasUnread,
            isDistinct: record.isDistinct, deliveryReceiptsEnabled: record.deliveryReceipts,
            readReceiptsEnabled: record.readReceipts,
            totalMessageCount: record.totalCount, totalUnreadMessageCount: record.unreadCount,
            metadata: Metadata(record.tree))
        conversation.owner = owner
        return conversation
    }

    /// Returns the id of the conversation into which this one was merged, otherwise the same id.
    func resolve(_ id: ConversationID) throws -> ConversationID {
        try db.cachedStatement(sql: "SELECT conversation FROM alias WHERE id = ?")
            .one([id.blob], in: db) { ConversationID(rawValue: $0[0]) } ?? id
    }

    func message(_ id: MessageID) throws -> Message? { try messageRecord(id).map { try message($0) } }

    func message(_ record: MessageRecord) throws -> Message {
        message(record, sender: try sender(record.sender, name: record.senderName))
    }

    func message(_ record: MessageRecord, sender: Identity) -> Message {
        var message = Message(
            id: record.id, conversationID: record.conversation, position: record.position,
            parts: parts(record.parts, of: record.id),
            sender: sender, sentAt: record.sentAt.date, receivedAt: record.receivedAt.date,
            updatedAt: record.updatedAt?.date,
            isUnread: record.isUnread, isSent: record.isSent, failure: record.failure?.error,
            recipientStatusByUserID: record.statuses)
        message.ordering = record.ordering
        message.owner = owner
        return message
    }

    /// Returns the messages of a conversation that are on this device, in order.
    func messages(in id: ConversationID) throws -> [Message] {
        try messages(
            db.cachedStatement(sql: "SELECT * FROM message WHERE conversation = ? ORDER BY ordering")
                .all([id.blob], in: db) { Self.messageRecord($0) })
    }

    /// Returns the announcement; nil if it is unknown, or if its deletion is pending.
    func shownAnnouncement(_ id: AnnouncementID) throws -> Announcement? {
        let isVisible = try db.cachedStatement(sql: "SELECT is_visible FROM announcement WHERE id = ?")
            .one([id.blob], in: db) { $0[0] as Bool }
        guard isVisible == true else { return nil }
        return try announcementRecord(id).map { try announcement($0) }
    }

    func announcement(_ record: AnnouncementRecord) throws -> Announcement {
        announcement(record, sender: try sender(record.sender, name: record.senderName))
    }

    func announcement(_ record: AnnouncementRecord, sender: Identity) -> Announcement {
        var announcement = Announcement(
            id: record.id, position: record.position, parts: parts(record.parts, of: nil), sender: sender,
            sentAt: record.sentAt.date,
            receivedAt: record.receivedAt.date, isUnread: record.isUnread)
        announcement.owner = owner
        return announcement
    }

    /// Returns the identity of a user. It has only the user id if the store has no other data of the user.
    func identity(_ user: UserID) throws -> Identity {
        try identityRecord(user).map(Self.identity) ?? Identity(userID: user)
    }

    private func sender(_ user: UserID?, name: String?) throws -> Identity {
        if let user { return try identity(user) }
        return Self.sender(named: name)
    }

    static func sender(named name: String?) -> Identity {
        var sender = Identity(userID: nil)
        sender.displayName = name
        return sender
    }

    /// - Parameter message: nil for the parts of an announcement.
    func parts(_ records: [PartRecord], of message: MessageID?) -> [MessagePart] {
        records.enumerated().map { part($1, index: $0, of: message) }
    }

    func part(_ record: PartRecord, index: Int, of message: MessageID?) -> MessagePart {
        let file = record.file.flatMap { name in contentFolder?.appending(path: name) }
        var part = MessagePart(
            id: record.id, mimeType: record.mimeType, data: record.body, fileURL: file, size: record.size, index: index,
            transferStatus: record.transferStatus, updatedAt: record.updatedAt?.date, contentID: record.content,
            messageID: message)
        part.owner = owner
        return part
    }

    static func identity(_ record: IdentityRecord) -> Identity {
        var identity = Identity(userID: record.userID)
        identity.displayName = record.displayName
        identity.firstName = record.firstName
        identity.lastName = record.lastName
        identity.emailAddress = record.emailAddress
        identity.phoneNumber = record.phoneNumber
        identity.avatarImageURL = record.avatarURL
        identity.publicKey = record.publicKey
        identity.metadata = record.metadata
        identity.isFollowed = record.isFollowed
        identity.isBlocked = record.isBlocked ?? false
        identity.presenceStatus = record.presenceStatus.flatMap(PresenceStatus.init)
        identity.lastSeenAt = record.lastSeenAt?.date
        return identity
    }

    // MARK: Values derived from messages

    func lastMessage(of conversation: ConversationID) throws -> MessageRecord? {
        let record =
            try db.cachedStatement(sql: "SELECT * FROM message WHERE conversation = ? ORDER BY ordering DESC LIMIT 1")
            .one([conversation.blob], in: db) { Self.messageRecord($0) }
        guard var record else { return nil }
        record.parts = try parts(of: record.id.rawValue)
        return record
    }

    func hasUnread(_ conversation: ConversationID) throws -> Bool {
        try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM message WHERE conversation = ? AND is_unread)")
            .one([conversation.blob], in: db) { $0[0] as Bool } ?? false
    }

    // MARK: Rows

    static func conversationRecord(_ row: Row) -> ConversationRecord {
        let lines: String = row[ConversationColumn.participants]
        return ConversationRecord(
            id: ConversationID(rawValue: row[ConversationColumn.id]), createdAt: row[ConversationColumn.createdAt],
            participants: lines.split(separator: "\n").map { UserID(trusted: String($0)) },
            isDistinct: row[ConversationColumn.isDistinct],
            deliveryReceipts: row[ConversationColumn.deliveryReceipts],
            readReceipts: row[ConversationColumn.readReceipts],
            metadata: StoreCoding.strings(row[ConversationColumn.metadata]),
            unreadCount: row[ConversationColumn.unreadCount],
            totalCount: row[ConversationColumn.totalCount], isVisible: row[ConversationColumn.isVisible])
    }

    /// Returns the message of a row, without its parts.
    static func messageRecord(_ row: Row) -> MessageRecord {
        let (sender, failure): (String?, String?) = (row[MessageColumn.sender], row[MessageColumn.failure])
        return MessageRecord(
            id: MessageID(rawValue: row[MessageColumn.id]),
            conversation: ConversationID(rawValue: row[MessageColumn.conversation]),
            position: row[MessageColumn.position], ordering: row[MessageColumn.ordering],
            sender: sender.map { UserID(trusted: $0) },
            senderName: row[MessageColumn.senderName], sentAt: row[MessageColumn.sentAt],
            receivedAt: row[MessageColumn.receivedAt],
            updatedAt: row[MessageColumn.updatedAt], isUnread: row[MessageColumn.isUnread],
            isSent: row[MessageColumn.isSent],
            failure: failure.flatMap { try? StoreCoding.value(StoredError.self, from: $0) },
            statuses: MessageRecord.statuses(fromLines: row[MessageColumn.statuses]), parts: [])
    }

    static func partRecord(_ row: Row) -> PartRecord {
        let content: UUID? = row[PartColumn.content]
        return PartRecord(
            id: row[PartColumn.id], mimeType: row[PartColumn.mimeType], body: row[PartColumn.body],
            size: row[PartColumn.size],
            content: content.map { ContentID(rawValue: $0) }, downloadURL: row[PartColumn.downloadURL],
            downloadExpires: row[PartColumn.downloadExpires],
            transferStatus: ContentTransferStatus(rawValue: row[PartColumn.transferStatus]) ?? .complete,
            file: row[PartColumn.file],
            usedAt: row[PartColumn.usedAt], updatedAt: row[PartColumn.updatedAt])
    }

    static func identityRecord(_ row: Row) -> IdentityRecord {
        let user: String = row["user_id"]
        return IdentityRecord(
            userID: UserID(trusted: user), displayName: row["display_name"], firstName: row["first_name"],
            lastName: row["last_name"],
            emailAddress: row["email_address"], phoneNumber: row["phone_number"], avatarURL: row["avatar_url"],
            publicKey: row["public_key"],
            metadata: StoreCoding.strings(row["metadata"]), isFollowed: row["is_followed"],
            isBlocked: (row["is_blocked"] as Bool) ? true : nil, isFull: row["is_full"],
            presenceStatus: row["presence_status"], lastSeenAt: row["last_seen_at"])
    }

    /// Returns the announcement of a row, without its parts.
    static func announcementRecord(_ row: Row) -> AnnouncementRecord {
        let sender: String? = row["sender"]
        return AnnouncementRecord(
            id: AnnouncementID(rawValue: row["id"]), position: row["position"],
            sender: sender.map { UserID(trusted: $0) },
            senderName: row["sender_name"], sentAt: row["sent_at"], receivedAt: row["received_at"],
            isUnread: row["is_unread"], parts: [])
    }
}

extension ObjectID {
    /// The id as 16 bytes, its form in the store.
    var blob: Data { rawValue.data }
}

extension UUID {
    var data: Data { withUnsafeBytes(of: uuid) { Data($0) } }
}

extension Statement {
    func one<Value>(_ arguments: StatementArguments, in db: Database, _ read: (Row) -> Value) throws -> Value? {
        let rows = try Row.fetchCursor(self, arguments: arguments)
        guard let row = try rows.next() else { return nil }
        return read(row)
    }

    func all<Value>(_ arguments: StatementArguments, in db: Database, _ read: (Row) -> Value) throws -> [Value] {
        let rows = try Row.fetchCursor(self, arguments: arguments)
        var values: [Value] = []
        while let row = try rows.next() { values.append(read(row)) }
        return values
    }
}
