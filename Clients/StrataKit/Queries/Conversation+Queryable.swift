// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Conversation: Queryable {
    /// The properties of conversations that queries can name.
    public struct QueryProperties: Sendable {
        /// Its id. A former id finds it too.
        public let id = Query<Conversation>.Property<ConversationID, QueryOperators.Lists>("identifier", .column("conversation.id"), .conversation)
        /// Its participants.
        public let participants = Query<Conversation>.Property<Set<UserID>, QueryOperators.Users>("participants", .participants, .users)
        /// When it was created.
        public let createdAt = Query<Conversation>.Property<Date, QueryOperators.Order>("createdAt", .column("conversation.created_at"), .date)
        /// Whether an unread message of it is on this device.
        public let hasUnreadMessages = Query<Conversation>
            .Property<Bool, QueryOperators.Equality>("hasUnreadMessages", .column("conversation.has_unread"), .bool)
        /// Whether it is the one distinct conversation of its participants.
        public let isDistinct = Query<Conversation>
            .Property<Bool, QueryOperators.Equality>("isDistinct", .column("conversation.is_distinct"), .bool)
        /// The newest message on this device.
        public let lastMessage = LastMessageProperties()
        /// All metadata, compared as a whole. With a key path: the text at that path.
        public let metadata = Query<Conversation>
            .Property<Metadata, QueryOperators.Unsorted<QueryOperators.Equality>>("metadata", .metadata(table: "conversation"), .metadata)

        fileprivate var all: [QueryProperty] {
            [
                id.property, participants.property, createdAt.property, hasUnreadMessages.property, isDistinct.property, lastMessage.id.property,
                lastMessage.sentAt.property, lastMessage.receivedAt.property, metadata.property,
            ]
        }
    }

    /// The properties of the newest message on this device. A conversation without messages has no value for them.
    public struct LastMessageProperties: Sendable {
        /// Its id.
        public let id = Query<Conversation>
            .Property<MessageID, QueryOperators.Lists>("lastMessage", .column("conversation.last_message"), .message)
        /// When it was sent.
        public let sentAt = Query<Conversation>
            .Property<Date, QueryOperators.Order>("lastMessage.sentAt", .column("conversation.last_sent_at"), .date)
        /// When it arrived on this device.
        public let receivedAt = Query<Conversation>
            .Property<Date, QueryOperators.Order>("lastMessage.receivedAt", .column("conversation.last_received_at"), .date)
    }

    /// The properties of conversations that queries can name.
    public static let queryProperties = QueryProperties()

    /// Conversations in the store.
    public static let querySource = QuerySource<Conversation>(
        tables: "conversation", columns: "conversation.*", condition: "conversation.is_visible", idColumn: "conversation.id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "lastMessage.identifier": "lastMessage", "lastMessage.id": "lastMessage"],
        metadataTable: "conversation", dependencies: [.conversation, .message, .messagePart, .identity], kind: .conversation,
        id: { ConversationID(rawValue: $0[0]) },
        load: { try $0.conversations($1) })
}
