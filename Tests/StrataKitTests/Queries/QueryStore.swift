// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

@testable import StrataKit

/// An in-memory store that is filled by SQL, and read as the signed-in user `me`.
struct QueryStore {
    let queue: DatabaseQueue

    init(isEmpty: Bool = false) throws {
        queue = try DatabaseQueue()
        try StoreSchema.migrator.migrate(queue)
        if !isEmpty { try fillWithExample() }
    }

    func read<Value>(_ read: (StoreReader) throws -> Value) throws -> Value {
        try queue.read { try read(StoreReader(db: $0, me: Example.user("me"), contentFolder: nil)) }
    }

    func write(_ sql: String, _ arguments: StatementArguments = []) throws {
        try queue.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    // MARK: Rows

    func addIdentity(_ name: String, _ columns: [String: (any DatabaseValueConvertible)?] = [:]) throws {
        try insert(
            "identity", ["user_id": name, "metadata": "{}", "is_followed": 0, "is_full": 1].merging(columns) { $1 })
    }

    func addConversation(
        _ number: Int, _ users: [String], created: Int64 = 0, isDistinct: Bool = false,
        metadata: [String: String] = [:], isVisible: Bool = true
    ) throws {
        let id = Example.conversation(number).blob
        try insert(
            "conversation",
            [
                "id": id, "created_at": created * 1_000_000, "participants": users.sorted().joined(separator: "\n"),
                "is_distinct": isDistinct,
                "delivery_receipts": 1, "read_receipts": 1, "metadata": StoreCoding.text(metadata), "unread_count": 0,
                "total_count": 0,
                "is_visible": isVisible, "has_unread": 0,
            ])
        for name in users { try insert("participant", ["user_id": name, "conversation": id]) }
    }

    /// - Parameter position: nil: not sent.
    func addMessage(
        _ number: Int, in conversationNumber: Int, position: Int64?, from sender: String?, sent: Int64 = 0,
        received: Int64 = 0,
        isUnread: Bool = false,
        parts: [ExamplePart] = []
    ) throws {
        try insert(
            "message",
            [
                "id": Example.message(number).blob, "conversation": Example.conversation(conversationNumber).blob,
                "position": position,
                "ordering": position ?? MessageRecord.unsent + Int64(number), "sender": sender,
                "sender_name": sender == nil ? "System" : nil,
                "sent_at": sent * 1_000_000, "received_at": received * 1_000_000, "is_unread": isUnread,
                "is_sent": position != nil, "statuses": "",
            ])
        try addParts(parts, to: Example.message(number).rawValue, number)
    }

    func addAnnouncement(
        _ number: Int, from sender: String?, sent: Int64 = 0, received: Int64 = 0, isUnread: Bool = false,
        isVisible: Bool = true,
        parts: [ExamplePart] = []
    ) throws {
        let id = Example.announcement(number)
        try insert(
            "announcement",
            [
                "id": id.blob, "position": number, "sender": sender, "sender_name": sender == nil ? "System" : nil,
                "sent_at": sent * 1_000_000,
                "received_at": received * 1_000_000, "is_unread": isUnread, "is_visible": isVisible,
                "server_unread": isUnread,
            ])
        try addParts(parts, to: id.rawValue, number)
    }

    private func addParts(_ parts: [ExamplePart], to owner: UUID, _ number: Int) throws {
        for (index, part) in parts.enumerated() {
            try insert(
                "part",
                [
                    "message": owner.data, "idx": index, "id": Example.part(number, index).data, "mime_type": part.type,
                    "size": part.size,
                    "transfer_status": part.status.rawValue,
                ])
        }
    }

    /// Fills the columns of conversations that are derived from their messages.
    func finish() throws {
        let last = "FROM message WHERE conversation = conversation.id ORDER BY ordering DESC LIMIT 1"
        try write(
            """
            UPDATE conversation SET last_message = (SELECT id \(last)), last_sent_at = (SELECT sent_at \(last)),
                last_received_at = (SELECT received_at \(last)),
                has_unread = EXISTS (SELECT 1 FROM message WHERE conversation = conversation.id AND is_unread)
            """)
    }

    private func insert(_ table: String, _ columns: [String: (any DatabaseValueConvertible)?]) throws {
        let columns = columns.sorted { $0.key < $1.key }
        let names = columns.map(\.key).joined(separator: ", ")
        let marks = databaseQuestionMarks(count: columns.count)
        try write("INSERT INTO \(table) (\(names)) VALUES (\(marks))", StatementArguments(columns.map(\.value)))
    }

    /// Changes one message and its revision, as StrataKit does.
    func update(message number: Int, _ columns: String) throws {
        try write("UPDATE message SET \(columns), revision = random() WHERE id = ?", [Example.message(number).blob])
    }
}

struct ExamplePart {
    var type: String
    var size = 0
    var status = ContentTransferStatus.complete
}

enum Example {
    static func conversation(_ number: Int) -> ConversationID { ConversationID(rawValue: uuid(number)) }
    static func message(_ number: Int) -> MessageID { MessageID(rawValue: uuid(number)) }
    static func announcement(_ number: Int) -> AnnouncementID { AnnouncementID(rawValue: uuid(number, kind: 1)) }
    static func part(_ message: Int, _ index: Int) -> UUID { uuid(message, index + 1) }
    static func user(_ name: String) -> UserID { UserID(trusted: name) }
    static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    /// Returns a UUID. The ids of announcements have another kind, so that they differ from those of messages.
    private static func uuid(_ number: Int, _ index: Int = 0, kind: UInt8 = 0) -> UUID {
        UUID(uuid: (kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255), UInt8(index)))
    }
}

/// An object with a short name for use in tests.
protocol Labelled { var label: String { get } }

extension UUID {
    fileprivate var label: String {
        let number = Int(uuid.13) << 8 | Int(uuid.14)
        return uuid.15 == 0 ? "\(number)" : "\(number).\(uuid.15 - 1)"
    }
}
extension Conversation: Labelled { var label: String { id.rawValue.label } }
extension Message: Labelled { var label: String { id.rawValue.label } }
/// The label is the number of the message and the index of the part, for example `1.0`.
extension MessagePart: Labelled { var label: String { id.label } }
extension Announcement: Labelled { var label: String { id.rawValue.label } }
extension Identity: Labelled { var label: String { userID?.rawValue ?? "" } }
