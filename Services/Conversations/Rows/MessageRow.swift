// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The MESSAGE columns of a result: a message without the name of its sender.
struct MessageRow {
    let id: MessageID
    let conversationID: ConversationID
    let position: Position
    let ordinal: Int64
    /// Nil: the app's own server sent it, under ``senderName``.
    let sender: UserID?
    let senderName: String?
    let sentAt: StrataModel.Timestamp
    let parts: [MessagePart]
    let notification: String?
    let recipients: [StrataModel.Message.Recipient]
    let updatedAt: StrataModel.Timestamp?
    let receiptPolicy: ReceiptPolicy

    /// Nil if there is no message: its id is null.
    init?(_ row: Row, by columns: MessageColumns) throws(PostgresError) {
        guard let id = try row[optional: columns.id] else { return nil }
        self.init(
            id: MessageID(rawValue: id), conversationID: ConversationID(rawValue: try row[columns.conversation]),
            position: Position(try row[columns.position]), ordinal: try row[columns.ordinal], sender: try row[columns.sender],
            senderName: try row[optional: columns.senderName], sentAt: StrataModel.Timestamp(try row[columns.sentAt]), parts: try row[columns.parts],
            notification: try row[optional: columns.notification],
            users: try row[columns.recipients], statuses: try row[columns.statuses],
            updatedAt: try row[optional: columns.updatedAt].map { StrataModel.Timestamp($0) }, policy: try row[columns.policy])
    }

    private init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: String, senderName: String?,
        sentAt: StrataModel.Timestamp, parts: [UInt8], notification: String?, users: [String], statuses: [Int64], updatedAt: StrataModel.Timestamp?,
        policy: Int64
    ) {
        self.id = id
        self.conversationID = conversationID
        self.position = position
        self.ordinal = ordinal
        self.sender = sender.isEmpty ? nil : UserID(trusted: sender)
        self.senderName = senderName
        self.sentAt = sentAt
        self.parts = MessageRow.decode(parts)
        self.notification = notification
        recipients = zip(users, statuses).map { MessageRow.recipient($0, status: $1) }
        self.updatedAt = updatedAt
        receiptPolicy = ReceiptPolicy(policy)
    }

    /// A status, and four times one more than what others are shown instead.
    private static func recipient(_ user: String, status code: Int64) -> StrataModel.Message.Recipient {
        StrataModel.Message.Recipient(
            userID: UserID(trusted: user), status: RecipientStatus(rawValue: Int(code & 3)) ?? .sent,
            shownStatus: code < 4 ? nil : RecipientStatus(rawValue: Int(code / 4 - 1)))
    }

    /// What was stored cannot fail to decode; should it all the same, the message shows no parts rather than taking a whole list with it.
    static func decode(_ bytes: [UInt8]) -> [MessagePart] {
        ((try? ProtoMessageParts(serializedBytes: bytes))?.parts ?? []).compactMap { try? MessagePart($0) }
    }

    /// The users whose names are shown with it, other than the recipients.
    var users: [UserID] { sender.map { [$0] } ?? [] }

    func message(_ identities: [UserID: BasicIdentity]) -> StrataModel.Message {
        StrataModel.Message(
            id: id, conversationID: conversationID, position: position, ordinal: ordinal,
            sender: sender.map { .user(identities[$0] ?? BasicIdentity(userID: $0)) } ?? .name(senderName ?? ""), sentAt: sentAt, parts: parts,
            recipients: recipients,
            notification: notification, updatedAt: updatedAt, receiptPolicy: receiptPolicy)
    }
}

/// The columns of a message, as the type `message_row` has them.
struct MessageColumns: ColumnSet {
    fileprivate let id: Column<UUID>
    fileprivate let conversation: Column<UUID>
    fileprivate let position: Column<Int64>
    fileprivate let ordinal: Column<Int64>
    fileprivate let sender: Column<String>
    fileprivate let senderName: Column<String>
    fileprivate let sentAt: Column<Postgres.Timestamp>
    /// As they are stored.
    let parts: Column<[UInt8]>
    fileprivate let notification: Column<String>
    fileprivate let recipients: Column<[String]>
    fileprivate let statuses: Column<[Int64]>
    fileprivate let updatedAt: Column<Postgres.Timestamp>
    fileprivate let policy: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { try self.init(&names, prefix: "") }

    init(_ names: inout ColumnNames, prefix: String) throws(PostgresError) {
        try self.init(&names, prefix: prefix, conversation: "\(prefix)conversation_id", policy: "\(prefix)receipt_policy")
    }

    /// The last message of a `view_row`, which does not repeat the conversation and has one policy for both.
    init(lastInView names: inout ColumnNames) throws(PostgresError) {
        try self.init(&names, prefix: "last_", conversation: "conversation_id", policy: "receipt_policy")
    }

    private init(_ names: inout ColumnNames, prefix: String, conversation: String, policy: String) throws(PostgresError) {
        id = try names.column("\(prefix)message_id")
        self.conversation = try names.column(conversation)
        position = try names.column("\(prefix)position")
        ordinal = try names.column("\(prefix)ordinal")
        sender = try names.column("\(prefix)sender")
        senderName = try names.column("\(prefix)sender_name")
        sentAt = try names.column("\(prefix)sent_at")
        parts = try names.column("\(prefix)parts")
        notification = try names.column("\(prefix)notification")
        recipients = try names.column("\(prefix)recipients")
        statuses = try names.column("\(prefix)statuses")
        updatedAt = try names.column("\(prefix)updated_at")
        self.policy = try names.column(policy)
    }

    /// The same columns of a value of type `message_row`, with names that begin with a prefix, to stand beside others.
    static func selected(from row: String, prefix: String) -> String {
        [
            "message_id", "conversation_id", "position", "ordinal", "sender", "sent_at", "parts", "notification", "recipients", "statuses",
            "updated_at", "receipt_policy", "sender_name",
        ]
        .map { "(\(row)).\($0) AS \(prefix)\($0)" }.joined(separator: ", ")
    }
}

extension ReceiptPolicy {
    /// As the database has it.
    init(_ column: Int64) { self.init(rawValue: Int32(truncatingIfNeeded: column)) }
}
