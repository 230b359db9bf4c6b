// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import Postgres
import SwiftProtobuf

/// The MESSAGE columns of a result: a message without the name of its sender.
struct MessageRow {
    let id: MessageID
    let conversationID: ConversationID
    let position: Position
    let ordinal: Int64
    let sender: UserID
    let sentAt: Model.Timestamp
    let parts: [MessagePart]
    let notification: String?
    let recipients: [Model.Message.Recipient]
    let updatedAt: Model.Timestamp?
    let receiptPolicy: ReceiptPolicy

    /// How many columns it takes.
    static let columns = 12
    /// Which of them the parts are in, as they are stored.
    static let partsColumn = 6

    /// Nil if there is no message: its id is null.
    init?(_ cursor: inout RowCursor) throws {
        guard let id = try cursor.optional(UUID.self) else {
            cursor.skip(MessageRow.columns - 1)
            return nil
        }
        self.init(
            id: MessageID(rawValue: id), conversationID: ConversationID(rawValue: try cursor.next()), position: try cursor.position(),
            ordinal: try cursor.next(), sender: try cursor.user(), sentAt: try cursor.time(), parts: try cursor.next(),
            notification: try cursor.optional(), users: try cursor.next(), statuses: try cursor.next(), updatedAt: try cursor.optionalTime(),
            policy: try cursor.next())
    }

    /// The same for the last message of the VIEW columns, which do not repeat the conversation, and whose last column is the policy of both.
    init?(lastIn conversation: ConversationID, _ cursor: inout RowCursor) throws {
        guard let id = try cursor.optional(UUID.self) else {
            // Without the conversation, and the id that was null.
            cursor.skip(MessageRow.columns - 2)
            return nil
        }
        self.init(
            id: MessageID(rawValue: id), conversationID: conversation, position: try cursor.position(), ordinal: try cursor.next(),
            sender: try cursor.user(), sentAt: try cursor.time(), parts: try cursor.next(), notification: try cursor.optional(),
            users: try cursor.next(), statuses: try cursor.next(), updatedAt: try cursor.optionalTime(), policy: try cursor.next())
    }

    private init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: UserID, sentAt: Model.Timestamp,
        parts: [UInt8], notification: String?, users: [String], statuses: [Int64], updatedAt: Model.Timestamp?, policy: Int64
    ) {
        self.id = id
        self.conversationID = conversationID
        self.position = position
        self.ordinal = ordinal
        self.sender = sender
        self.sentAt = sentAt
        self.parts = MessageRow.decode(parts)
        self.notification = notification
        recipients = zip(users, statuses).map { MessageRow.recipient($0, $1) }
        self.updatedAt = updatedAt
        receiptPolicy = ReceiptPolicy(policy)
    }

    /// A status, and four times one more than what others are shown instead.
    private static func recipient(_ user: String, _ code: Int64) -> Model.Message.Recipient {
        Model.Message.Recipient(
            userID: UserID(trusted: user), status: RecipientStatus(rawValue: Int(code & 3)) ?? .sent,
            shownStatus: code < 4 ? nil : RecipientStatus(rawValue: Int(code / 4 - 1)))
    }

    /// What was stored cannot fail to decode; should it all the same, the message shows no parts rather than taking a whole list with it.
    static func decode(_ bytes: [UInt8]) -> [MessagePart] {
        ((try? ProtoMessageParts(serializedBytes: bytes))?.parts ?? []).compactMap { try? MessagePart($0) }
    }

    func message(_ identities: [UserID: BasicIdentity]) -> Model.Message {
        Model.Message(
            id: id, conversationID: conversationID, position: position, ordinal: ordinal,
            sender: identities[sender] ?? BasicIdentity(userID: sender), sentAt: sentAt, parts: parts, recipients: recipients,
            notification: notification, updatedAt: updatedAt, receiptPolicy: receiptPolicy)
    }
}

extension ReceiptPolicy {
    /// As the database has it.
    init(_ column: Int64) { self.init(rawValue: Int32(truncatingIfNeeded: column)) }
}
