// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The columns of a message without its conversation and without the identity of its sender.
struct MessageContent: Decodable {
    let id: MessageID
    let position: Position
    let ordinal: Int64
    /// The sender. ``StrataModel/UserID/appServer``: the app's own server sent the message, under `senderName`.
    let sender: UserID
    private let senderName: String?
    let sentAt: StrataModel.Timestamp
    /// The parts as the database stores them.
    let storedParts: [UInt8]
    private let notification: String?
    private let recipients: [UserID]
    private let statuses: [Int64]
    let updatedAt: StrataModel.Timestamp?

    private enum CodingKeys: String, CodingKey {
        case id = "messageID"
        case storedParts = "parts"
        case position, ordinal, sender, senderName, sentAt, notification, recipients, statuses, updatedAt
    }

    /// Decodes a recipient. The code is the status, plus 4 × (the status shown to others + 1) if that differs.
    private static func recipient(_ user: UserID, status code: Int64) -> StrataModel.Message.Recipient {
        StrataModel.Message.Recipient(
            userID: user, status: RecipientStatus(rawValue: Int(code & 3)) ?? .sent,
            shownStatus: code < 4 ? nil : RecipientStatus(rawValue: Int(code / 4 - 1)))
    }

    /// Decodes stored parts. A corrupt row yields an empty array, so that one message cannot fail a whole page.
    static func decode(_ bytes: [UInt8]) -> [MessagePart] {
        ((try? ProtoMessageParts(serializedBytes: bytes))?.parts ?? []).compactMap { try? MessagePart($0) }
    }

    var parts: [MessagePart] { Self.decode(storedParts) }

    /// The users whose identities the message needs, except its recipients.
    var users: [UserID] { sender.isAppServer ? [] : [sender] }

    func message(
        in conversation: ConversationID, _ receiptPolicy: ReceiptPolicy, _ identities: [UserID: BasicIdentity]
    ) -> StrataModel.Message {
        StrataModel.Message(
            id: id, conversationID: conversation, position: position, ordinal: ordinal,
            sender: sender.isAppServer
                ? .name(senderName ?? "") : .user(identities[sender] ?? BasicIdentity(userID: sender)),
            sentAt: sentAt, parts: parts,
            recipients: zip(recipients, statuses).map { Self.recipient($0, status: $1) },
            notification: notification, updatedAt: updatedAt, receiptPolicy: receiptPolicy)
    }
}

/// The columns of the type `message_row`.
struct MessageRow: Decodable {
    let content: MessageContent
    let conversationID: ConversationID
    private let receiptPolicy: ReceiptPolicy

    /// The users whose identities the message needs, except its recipients.
    var users: [UserID] { content.users }

    func message(_ identities: [UserID: BasicIdentity]) -> StrataModel.Message {
        content.message(in: conversationID, receiptPolicy, identities)
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
