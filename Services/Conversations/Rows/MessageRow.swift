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

    /// How many columns it takes.
    static let columns = 10

    /// Nil if there is no message: its id is null.
    init?(_ cursor: inout RowCursor) throws {
        guard let id = try cursor.optional(UUID.self) else {
            cursor.skip(MessageRow.columns - 1)
            return nil
        }
        self.init(
            id: MessageID(rawValue: id), conversationID: ConversationID(rawValue: try cursor.next()), position: try cursor.position(),
            ordinal: try cursor.next(), sender: try cursor.user(), sentAt: try cursor.time(), parts: try cursor.next(),
            notification: try cursor.optional(), users: try cursor.next(), statuses: try cursor.next())
    }

    /// The same for the last message of the VIEW columns, which do not repeat the conversation.
    init?(lastIn conversation: ConversationID, _ cursor: inout RowCursor) throws {
        guard let id = try cursor.optional(UUID.self) else {
            cursor.skip(MessageRow.columns - 2)
            return nil
        }
        self.init(
            id: MessageID(rawValue: id), conversationID: conversation, position: try cursor.position(), ordinal: try cursor.next(),
            sender: try cursor.user(), sentAt: try cursor.time(), parts: try cursor.next(), notification: try cursor.optional(),
            users: try cursor.next(), statuses: try cursor.next())
    }

    private init(
        id: MessageID, conversationID: ConversationID, position: Position, ordinal: Int64, sender: UserID, sentAt: Model.Timestamp,
        parts: [UInt8], notification: String?, users: [String], statuses: [Int64]
    ) {
        self.id = id
        self.conversationID = conversationID
        self.position = position
        self.ordinal = ordinal
        self.sender = sender
        self.sentAt = sentAt
        self.parts = MessageRow.decode(parts)
        self.notification = notification
        recipients = zip(users, statuses)
            .map {
                Model.Message.Recipient(userID: UserID(trusted: $0), status: RecipientStatus(rawValue: Int($1)) ?? .sent)
            }
    }

    /// What was stored cannot fail to decode; should it all the same, the message shows no parts rather than taking a whole list with it.
    private static func decode(_ bytes: [UInt8]) -> [MessagePart] {
        ((try? ProtoMessageParts(serializedBytes: bytes))?.parts ?? []).compactMap { try? MessagePart($0) }
    }

    func message(_ identities: [UserID: BasicIdentity]) -> Model.Message {
        Model.Message(
            id: id, conversationID: conversationID, position: position, ordinal: ordinal,
            sender: identities[sender] ?? BasicIdentity(userID: sender), sentAt: sentAt, parts: parts, recipients: recipients,
            notification: notification)
    }
}
