// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Batch loading: one statement for each type of related object, instead of one for each object.
extension StoreReader {
    /// Returns those of the conversations that are visible, in any order.
    func visibleConversations(_ ids: [ConversationID]) throws -> [Conversation] {
        var found: [Row] = []
        try rows("SELECT * FROM conversation WHERE is_visible AND id IN", keys: ids.map(\.blob)) {
            found.append($0.copy())
        }
        return try conversations(found)
    }

    /// Returns the conversations of these rows, with their participants and newest messages.
    func conversations(_ rows: [Row]) throws -> [Conversation] {
        let records = rows.map(Self.conversationRecord)
        let last = try messageRecords(rows.compactMap { row -> UUID? in row[ConversationColumn.lastMessage] })
        let users = records.reduce(into: Set(last.values.compactMap(\.sender))) { $0.formUnion($1.participants) }
        let identities = try identities(of: users)
        return zip(rows, records)
            .map { row, record in
                let lastID: UUID? = row[ConversationColumn.lastMessage]
                let lastRecord = lastID.flatMap { id in last[id] }
                return conversation(
                    record, participants: Set(record.participants.map { identities[$0] ?? Identity(userID: $0) }),
                    lastMessage: lastRecord.map { message($0, identities: identities) },
                    hasUnread: row[ConversationColumn.hasUnread])
            }
    }

    func messages(_ records: [MessageRecord]) throws -> [Message] {
        let parts = try partRecords(of: records.map(\.id.rawValue))
        let identities = try identities(of: Set(records.compactMap(\.sender)))
        return records.map { record in
            var record = record
            record.parts = parts[record.id.rawValue] ?? []
            return message(record, identities: identities)
        }
    }

    func announcements(_ records: [AnnouncementRecord]) throws -> [Announcement] {
        let parts = try partRecords(of: records.map(\.id.rawValue))
        let identities = try identities(of: Set(records.compactMap(\.sender)))
        return records.map { record in
            var record = record
            record.parts = parts[record.id.rawValue] ?? []
            return announcement(record, sender: sender(record.sender, name: record.senderName, identities: identities))
        }
    }

    func messagePart(_ row: Row) -> MessagePart {
        part(Self.partRecord(row), index: row["idx"], of: MessageID(rawValue: row["message"]))
    }

    private func message(_ record: MessageRecord, identities: [UserID: Identity]) -> Message {
        message(record, sender: sender(record.sender, name: record.senderName, identities: identities))
    }

    private func sender(_ user: UserID?, name: String?, identities: [UserID: Identity]) -> Identity {
        user.map { identities[$0] ?? Identity(userID: $0) } ?? Self.sender(named: name)
    }

    // MARK: Rows by key

    private func messageRecords(_ ids: [UUID]) throws -> [UUID: MessageRecord] {
        var records: [UUID: MessageRecord] = [:]
        try rows("SELECT * FROM message WHERE id IN", keys: ids.map(\.data)) { row in
            let record = Self.messageRecord(row)
            records[record.id.rawValue] = record
        }
        for (id, parts) in try partRecords(of: ids) { records[id]?.parts = parts }
        return records
    }

    private func partRecords(of owners: [UUID]) throws -> [UUID: [PartRecord]] {
        var records: [UUID: [PartRecord]] = [:]
        // The rows are in primary key order, so the parts of each message are in order.
        try rows("SELECT * FROM part WHERE message IN", keys: owners.map(\.data), order: "ORDER BY message, idx") {
            row in
            records[row[PartColumn.message], default: []].append(Self.partRecord(row))
        }
        return records
    }

    private func identities(of users: Set<UserID>) throws -> [UserID: Identity] {
        var identities: [UserID: Identity] = [:]
        try rows("SELECT * FROM identity WHERE user_id IN", keys: users.map(\.rawValue)) { row in
            let record = Self.identityRecord(row)
            identities[record.userID] = Self.identity(record)
        }
        return identities
    }

    /// Reads the rows with these keys, up to 500 per statement. Statements for up to four keys are cached, because they
    /// are used often.
    private func rows(
        _ select: String, keys: [some DatabaseValueConvertible & Sendable], order: String = "", read: (Row) -> Void
    ) throws {
        for start in stride(from: 0, to: keys.count, by: 500) {
            let some = keys[start..<min(start + 500, keys.count)]
            let sql = "\(select) (\(databaseQuestionMarks(count: some.count))) \(order)"
            let statement = some.count <= 4 ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql)
            let rows = try Row.fetchCursor(statement, arguments: StatementArguments(some))
            while let row = try rows.next() { read(row) }
        }
    }
}
