// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Message: Queryable {
    /// The properties of messages that queries can name.
    public struct QueryProperties: Sendable {
        /// Its id.
        public let id = Query<Message>.Property<MessageID, QueryOperators.Lists>("identifier", .column("message.id"), .message)
        /// Its conversation, by the present id or a former one.
        public let conversationID = Query<Message>
            .Property<ConversationID, QueryOperators.Lists>("conversation", .column("message.conversation"), .conversation)
        /// Its place in the order of the conversation. It has no value until the server has accepted the message. Such messages sort as the greatest.
        public let position = Query<Message>
            .Property<Int64, QueryOperators.Order>("position", .column("message.position"), .integer, sortColumn: "message.ordering")
        /// When it was sent.
        public let sentAt = Query<Message>.Property<Date, QueryOperators.Order>("sentAt", .column("message.sent_at"), .date)
        /// When it arrived on this device.
        public let receivedAt = Query<Message>.Property<Date, QueryOperators.Order>("receivedAt", .column("message.received_at"), .date)
        /// Whether the server has accepted it.
        public let isSent = Query<Message>.Property<Bool, QueryOperators.Equality>("isSent", .column("message.is_sent"), .bool)
        /// Whether another user sent it and this user has not read it.
        public let isUnread = Query<Message>.Property<Bool, QueryOperators.Equality>("isUnread", .column("message.is_unread"), .bool)
        /// Its sender.
        public let sender = SenderProperties<Message>(table: "message")
        /// Its parts.
        public let parts = PartsProperties<Message>(owner: "message.id")

        fileprivate var all: [QueryProperty] {
            [
                id.property, conversationID.property, position.property, sentAt.property, receivedAt.property, isSent.property, isUnread.property,
            ] + sender.all + parts.all
        }
    }

    /// The properties of messages that queries can name.
    public static let queryProperties = QueryProperties()

    /// Messages in the store.
    public static let querySource = QuerySource<Message>(
        tables: "message", columns: "message.*", condition: nil, idColumn: "message.id", properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "conversationID": "conversation", "conversation.identifier": "conversation"].merging(commonAliases) { $1 },
        metadataTable: nil, dependencies: [.message, .messagePart, .identity], kind: .message, revisionColumn: "message.revision",
        id: { MessageID(rawValue: $0[0]) },
        load: { reader, rows in try reader.messages(rows.map(StoreReader.messageRecord)) })

    /// Names of older versions of LayerKit, and Swift's spelling.
    static let commonAliases = [
        "index": "position", "sender.name": "sender.displayName", "parts.mimeType": "parts.MIMEType",
    ]
}

/// The properties of a sender.
public struct SenderProperties<Element: Queryable>: Sendable {
    /// The user. It has no value if the sender is no user.
    public let userID: Query<Element>.Property<UserID, QueryOperators.Lists>
    /// The present name.
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

/// The properties of parts. A comparison holds if it holds for at least one part, and `!=` and `isNotIn` are the opposites of `==` and `isIn`: they hold if
/// no part has that value. Two comparisons need not hold for the same part.
public struct PartsProperties<Element: Queryable>: Sendable {
    /// For example `text/plain`.
    public let mimeType: Query<Element>.Property<String, QueryOperators.Unsorted<QueryOperators.Lists>>
    /// Bytes.
    public let size: Query<Element>.Property<Int, QueryOperators.Unsorted<QueryOperators.Numbers>>
    /// Where the bytes of the part are.
    public let transferStatus: Query<Element>.Property<ContentTransferStatus, QueryOperators.Unsorted<QueryOperators.Lists>>

    init(owner: String) {
        mimeType = .init("parts.MIMEType", .parts("part.mime_type", owner: owner), .text)
        size = .init("parts.size", .parts("part.size", owner: owner), .integer)
        transferStatus = .init("parts.transferStatus", .parts("part.transfer_status", owner: owner), .transferStatus)
    }

    var all: [QueryProperty] { [mimeType.property, size.property, transferStatus.property] }
}

extension [QueryProperty] {
    /// The properties by their LayerKit names.
    var byName: [String: QueryProperty] { Dictionary(map { ($0.name, $0) }) { $1 } }
}
