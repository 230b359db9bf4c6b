// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Message: Queryable {
    /// The properties of messages that queries can use.
    public struct QueryProperties: Sendable {
        /// The message's id.
        public let id = Query<Message>.Property<MessageID, QueryOperators.Lists>(
            "identifier", .column("message.id"), .message)
        /// The conversation, by its current or a previous id.
        public let conversationID = Query<Message>
            .Property<ConversationID, QueryOperators.Lists>(
                "conversation", .column("message.conversation"), .conversation)
        /// The position in the order of the conversation. Messages that the server has not accepted have no value, and
        /// sort last.
        public let position = Query<Message>
            .Property<Int64, QueryOperators.Order>(
                "position", .column("message.position"), .integer, sortColumn: "message.ordering")
        /// The time at which the message was sent.
        public let sentAt = Query<Message>.Property<Date, QueryOperators.Order>(
            "sentAt", .column("message.sent_at"), .date)
        /// The time at which the message reached this device.
        public let receivedAt = Query<Message>.Property<Date, QueryOperators.Order>(
            "receivedAt", .column("message.received_at"), .date)
        /// True if the server has accepted the message.
        public let isSent = Query<Message>.Property<Bool, QueryOperators.Equality>(
            "isSent", .column("message.is_sent"), .bool)
        /// True if another user sent the message and this user has not read it.
        public let isUnread = Query<Message>.Property<Bool, QueryOperators.Equality>(
            "isUnread", .column("message.is_unread"), .bool)
        /// The sender's properties.
        public let sender = SenderProperties<Message>(table: "message")
        /// The properties of the parts.
        public let parts = PartsProperties<Message>(owner: "message.id")

        fileprivate var all: [QueryProperty] {
            [
                id.property, conversationID.property, position.property, sentAt.property, receivedAt.property,
                isSent.property, isUnread.property,
            ] + sender.all + parts.all
        }
    }

    /// The properties of messages that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for messages in the store.
    public static let querySource = QuerySource<Message>(
        tables: "message", columns: "message.*", condition: nil, idColumn: "message.id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "conversationID": "conversation", "conversation.identifier": "conversation"]
            .merging(commonAliases) { $1 },
        metadataTable: nil, dependencies: [.message, .messagePart, .identity], kind: .message,
        revisionColumn: "message.revision",
        id: { MessageID(rawValue: $0[0]) },
        load: { reader, rows in try reader.messages(rows.map(StoreReader.messageRecord)) })

    /// Property names of older LayerKit versions, and Swift spellings.
    static let commonAliases = [
        "index": "position", "sender.name": "sender.displayName", "parts.mimeType": "parts.MIMEType",
    ]
}

/// The properties of a sender.
public struct SenderProperties<Element: Queryable>: Sendable {
    /// The user id. It has no value if the sender is not a user.
    public let userID: Query<Element>.Property<UserID, QueryOperators.Lists>
    /// The current display name.
    public let displayName: Query<Element>.Property<String, QueryOperators.Lists>

    init(table: String) {
        userID = .init("sender.userID", .column("\(table).sender"), .user)
        let name = """
            CASE WHEN \(table).sender IS NULL THEN \(table).sender_name \
            ELSE (SELECT display_name FROM identity WHERE user_id = \(table).sender) END
            """
        displayName = .init("sender.displayName", .column("(\(name))"), .text)
    }

    var all: [QueryProperty] { [userID.property, displayName.property] }
}

/// The properties of parts. A comparison is true if at least one part satisfies it. `!=` and `isNotIn` are the
/// opposites of `==` and `isIn`: they are true if no part has the value. Different parts can satisfy different
/// comparisons of one predicate.
public struct PartsProperties<Element: Queryable>: Sendable {
    /// The MIME type, for example `text/plain`.
    public let mimeType: Query<Element>.Property<String, QueryOperators.Unsorted<QueryOperators.Lists>>
    /// The size in bytes.
    public let size: Query<Element>.Property<Int, QueryOperators.Unsorted<QueryOperators.Numbers>>
    /// The location of the part's bytes.
    public let transferStatus:
        Query<Element>.Property<ContentTransferStatus, QueryOperators.Unsorted<QueryOperators.Lists>>

    init(owner: String) {
        mimeType = .init("parts.MIMEType", .parts("part.mime_type", owner: owner), .text)
        size = .init("parts.size", .parts("part.size", owner: owner), .integer)
        transferStatus = .init("parts.transferStatus", .parts("part.transfer_status", owner: owner), .transferStatus)
    }

    var all: [QueryProperty] { [mimeType.property, size.property, transferStatus.property] }
}

extension [QueryProperty] {
    var byName: [String: QueryProperty] { Dictionary(map { ($0.name, $0) }) { $1 } }
}
