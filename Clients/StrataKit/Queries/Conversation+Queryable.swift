// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Conversation: Queryable {
    /// The properties of conversations that queries can use.
    public struct QueryProperties: Sendable {
        /// The conversation's id. A previous id matches too.
        public let id = Query<Conversation>.Property<ConversationID, QueryOperators.Lists>(
            "identifier", .column("conversation.id"), .conversation)
        /// The participants.
        public let participants = Query<Conversation>.Property<Set<UserID>, QueryOperators.Users>(
            "participants", .participants, .users)
        /// The creation time.
        public let createdAt = Query<Conversation>.Property<Date, QueryOperators.Order>(
            "createdAt", .column("conversation.created_at"), .date)
        /// True if an unread message of the conversation is on this device.
        public let hasUnreadMessages = Query<Conversation>
            .Property<Bool, QueryOperators.Equality>("hasUnreadMessages", .column("conversation.has_unread"), .bool)
        /// True if this is the one distinct conversation of its participants.
        public let isDistinct = Query<Conversation>
            .Property<Bool, QueryOperators.Equality>("isDistinct", .column("conversation.is_distinct"), .bool)
        /// The newest message on this device.
        public let lastMessage = LastMessageProperties()
        /// All metadata, compared as a whole. With a key path: the text at that path.
        public let metadata = Query<Conversation>
            .Property<Metadata, QueryOperators.Unsorted<QueryOperators.Equality>>(
                "metadata", .metadata(table: "conversation"), .metadata)

        fileprivate var all: [QueryProperty] {
            [
                id.property, participants.property, createdAt.property, hasUnreadMessages.property, isDistinct.property,
                lastMessage.id.property,
                lastMessage.sentAt.property, lastMessage.receivedAt.property, metadata.property,
            ]
        }
    }

    /// The properties of the newest message on this device. They have no value if the conversation has no messages.
    public struct LastMessageProperties: Sendable {
        /// The message's id.
        public let id = Query<Conversation>
            .Property<MessageID, QueryOperators.Lists>("lastMessage", .column("conversation.last_message"), .message)
        /// The time at which the message was sent.
        public let sentAt = Query<Conversation>
            .Property<Date, QueryOperators.Order>("lastMessage.sentAt", .column("conversation.last_sent_at"), .date)
        /// The time at which the message reached this device.
        public let receivedAt = Query<Conversation>
            .Property<Date, QueryOperators.Order>(
                "lastMessage.receivedAt", .column("conversation.last_received_at"), .date)
    }

    /// The properties of conversations that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for conversations in the store.
    public static let querySource = QuerySource<Conversation>(
        tables: "conversation", columns: "conversation.*", condition: "conversation.is_visible",
        idColumn: "conversation.id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "lastMessage.identifier": "lastMessage", "lastMessage.id": "lastMessage"],
        metadataTable: "conversation", dependencies: [.conversation, .message, .messagePart, .identity],
        kind: .conversation,
        id: { ConversationID(rawValue: $0[0]) },
        load: { try $0.conversations($1) })
}
