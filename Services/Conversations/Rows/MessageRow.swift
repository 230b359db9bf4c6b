// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The message columns of a row: a message without the identity of its sender.
struct MessageRow {
    let id: MessageID
    let conversationID: ConversationID
    let position: Position
    let ordinal: Int64
    /// The sender. nil: the app's own server sent the message, under ``senderName``.
    let sender: UserID?
    let senderName: String?
    let sentAt: StrataModel.Timestamp
    let parts: [MessagePart]
    let notification: String?
    let recipients: [StrataModel.Message.Recipient]
    let updatedAt: StrataModel.Timestamp?
    let receiptPolicy: ReceiptPolicy

    /// Reads a message. nil if the id is null.
    init?(_ row: Row, by columns: MessageColumns) throws(PostgresError) {
        guard let id = try row[optional: columns.id] else { return nil }
        self.init(
            id: MessageID(rawValue: id), conversationID: ConversationID(rawValue: try row[columns.conversation]),
            position: Position(try row[columns.position]), ordinal: try row[columns.ordinal],
            sender: try row[columns.sender],
            senderName: try row[optional: columns.senderName], sentAt: StrataModel.Timestamp(try row[columns.sentAt]),
            parts: try row[columns.parts],
            notification: try row[optional: columns.notification],
            users: try row[columns.recipients], statuses: try row[columns.statuses],
            updatedAt: try row[optional: columns.updatedAt].map { StrataModel.Timestamp($0) },
            policy: try row[columns.policy])
    }

    private init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: String,
        senderName: String?,
        sentAt: StrataModel.Timestamp, parts: [UInt8], notification: String?, users: [String], statuses: [Int64],
        updatedAt: StrataModel.Timestamp?,
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

    /// Decodes a recipient. The code is the status, plus 4 × (the status shown to others + 1) if that differs.
    private static func recipient(_ user: String, status code: Int64) -> StrataModel.Message.Recipient {
        StrataModel.Message.Recipient(
            userID: UserID(trusted: user), status: RecipientStatus(rawValue: Int(code & 3)) ?? .sent,
            shownStatus: code < 4 ? nil : RecipientStatus(rawValue: Int(code / 4 - 1)))
    }

    /// Decodes stored parts. A corrupt row yields an empty array, so that one message cannot fail a whole page.
    static func decode(_ bytes: [UInt8]) -> [MessagePart] {
        ((try? ProtoMessageParts(serializedBytes: bytes))?.parts ?? []).compactMap { try? MessagePart($0) }
    }

    /// The users whose identities the message needs, except its recipients.
    var users: [UserID] { sender.map { [$0] } ?? [] }

    func message(_ identities: [UserID: BasicIdentity]) -> StrataModel.Message {
        StrataModel.Message(
            id: id, conversationID: conversationID, position: position, ordinal: ordinal,
            sender: sender.map { .user(identities[$0] ?? BasicIdentity(userID: $0)) } ?? .name(senderName ?? ""),
            sentAt: sentAt, parts: parts,
            recipients: recipients,
            notification: notification, updatedAt: updatedAt, receiptPolicy: receiptPolicy)
    }
}

/// The columns of the type `message_row`.
struct MessageColumns: ColumnSet {
    fileprivate let id: Column<UUID>
    fileprivate let conversation: Column<UUID>
    fileprivate let position: Column<Int64>
    fileprivate let ordinal: Column<Int64>
    fileprivate let sender: Column<String>
    fileprivate let senderName: Column<String>
    fileprivate let sentAt: Column<PostgresTimestamp>
    /// The stored parts, encoded.
    let parts: Column<[UInt8]>
    fileprivate let notification: Column<String>
    fileprivate let recipients: Column<[String]>
    fileprivate let statuses: Column<[Int64]>
    fileprivate let updatedAt: Column<PostgresTimestamp>
    fileprivate let policy: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { try self.init(&names, prefix: "") }

    init(_ names: inout ColumnNames, prefix: String) throws(PostgresError) {
        try self.init(
            &names, prefix: prefix, conversation: "\(prefix)conversation_id", policy: "\(prefix)receipt_policy")
    }

    /// Looks up the columns of the last message in a `view_row`. The view's columns contain the conversation and the
    /// receipt policy for both.
    init(lastInView names: inout ColumnNames) throws(PostgresError) {
        try self.init(&names, prefix: "last_", conversation: "conversation_id", policy: "receipt_policy")
    }

    private init(_ names: inout ColumnNames, prefix: String, conversation: String, policy: String) throws(PostgresError)
    {
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

    /// Returns the select list of a message's columns.
    /// - Parameters:
    ///   - row: an SQL expression of the type `message_row`.
    ///   - prefix: the prefix of the column names, which keeps them distinct from other columns.
    static func selected(from row: String, prefix: String) -> String {
        [
            "message_id", "conversation_id", "position", "ordinal", "sender", "sent_at", "parts", "notification",
            "recipients", "statuses",
            "updated_at", "receipt_policy", "sender_name",
        ]
        .map { "(\(row)).\($0) AS \(prefix)\($0)" }.joined(separator: ", ")
    }
}

extension ReceiptPolicy {
    /// Creates the policy from its column.
    init(_ column: Int64) { self.init(rawValue: Int32(truncatingIfNeeded: column)) }
}
