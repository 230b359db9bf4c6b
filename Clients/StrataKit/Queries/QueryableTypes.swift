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

/// Query support for the parts of messages. Parts of announcements are not included.
extension MessagePart: Queryable {
    /// The properties of message parts that queries can use.
    public struct QueryProperties: Sendable {
        /// The part's id.
        public let id = Query<MessagePart>.Property<UUID, QueryOperators.Lists>("identifier", .column("part.id"), .part)
        /// The id of the part's message.
        public let messageID = Query<MessagePart>.Property<MessageID, QueryOperators.Lists>(
            "message", .column("part.message"), .message)
        /// The conversation of the part's message, by its current or a previous id.
        public let conversationID = Query<MessagePart>
            .Property<ConversationID, QueryOperators.Lists>(
                "message.conversation", .column("message.conversation"), .conversation)
        /// The MIME type, for example `text/plain`.
        public let mimeType = Query<MessagePart>.Property<String, QueryOperators.Lists>(
            "MIMEType", .column("part.mime_type"), .text)
        /// The index of the part in its message.
        public let index = Query<MessagePart>.Property<Int, QueryOperators.Numbers>(
            "index", .column("part.idx"), .integer)
        /// The size in bytes.
        public let size = Query<MessagePart>.Property<Int, QueryOperators.Numbers>(
            "size", .column("part.size"), .integer)
        /// The location of the part's bytes.
        public let transferStatus = Query<MessagePart>
            .Property<ContentTransferStatus, QueryOperators.Lists>(
                "transferStatus", .column("part.transfer_status"), .transferStatus)

        fileprivate var all: [QueryProperty] {
            [
                id.property, messageID.property, conversationID.property, mimeType.property, index.property,
                size.property, transferStatus.property,
            ]
        }
    }

    /// The properties of message parts that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for message parts in the store.
    public static let querySource = QuerySource<MessagePart>(
        tables: "part JOIN message ON message.id = part.message", columns: "part.*", condition: nil,
        idColumn: "part.id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "messageID": "message", "mimeType": "MIMEType", "message.identifier": "message"],
        metadataTable: nil,
        dependencies: [.message, .messagePart], kind: .messagePart, id: { $0[0] },
        load: { reader, rows in rows.map { reader.messagePart($0) } })
}

extension Announcement: Queryable {
    /// The properties of announcements that queries can use.
    public struct QueryProperties: Sendable {
        /// The announcement's id.
        public let id = Query<Announcement>.Property<AnnouncementID, QueryOperators.Lists>(
            "identifier", .column("announcement.id"), .announcement)
        /// The position in the order of announcements.
        public let position = Query<Announcement>.Property<Int64, QueryOperators.Order>(
            "position", .column("announcement.position"), .integer)
        /// The time at which the operator sent the announcement.
        public let sentAt = Query<Announcement>.Property<Date, QueryOperators.Order>(
            "sentAt", .column("announcement.sent_at"), .date)
        /// The time at which the announcement reached this device.
        public let receivedAt = Query<Announcement>.Property<Date, QueryOperators.Order>(
            "receivedAt", .column("announcement.received_at"), .date)
        /// Always true: users cannot send announcements.
        public let isSent = Query<Announcement>.Property<Bool, QueryOperators.Equality>(
            "isSent", .column("TRUE"), .bool)
        /// True if this user has not read the announcement.
        public let isUnread = Query<Announcement>.Property<Bool, QueryOperators.Equality>(
            "isUnread", .column("announcement.is_unread"), .bool)
        /// The sender's properties.
        public let sender = SenderProperties<Announcement>(table: "announcement")
        /// The properties of the parts.
        public let parts = PartsProperties<Announcement>(owner: "announcement.id")

        fileprivate var all: [QueryProperty] {
            [id.property, position.property, sentAt.property, receivedAt.property, isSent.property, isUnread.property]
                + sender.all + parts.all
        }
    }

    /// The properties of announcements that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for announcements in the store.
    public static let querySource = QuerySource<Announcement>(
        tables: "announcement", columns: "announcement.*", condition: "announcement.is_visible",
        idColumn: "announcement.id",
        properties: queryProperties.all.byName, aliases: ["id": "identifier"].merging(Message.commonAliases) { $1 },
        metadataTable: nil,
        dependencies: [.announcement, .messagePart, .identity], kind: .announcement,
        id: { AnnouncementID(rawValue: $0[0]) },
        load: { reader, rows in try reader.announcements(rows.map(StoreReader.announcementRecord)) })
}

extension Identity: Queryable {
    /// The properties of identities that queries can use.
    public struct QueryProperties: Sendable {
        /// The id in the form `layer:///identities/…`.
        public let id = Query<Identity>.Property<String, QueryOperators.Lists>(
            "identifier", .column("identity.user_id"), .identity)
        /// The user id.
        public let userID = Query<Identity>.Property<UserID, QueryOperators.Lists>(
            "userID", .column("identity.user_id"), .user)
        /// The display name.
        public let displayName = Query<Identity>.Property<String, QueryOperators.Text>(
            "displayName", .column("identity.display_name"), .text)
        /// The first name.
        public let firstName = Query<Identity>.Property<String, QueryOperators.Text>(
            "firstName", .column("identity.first_name"), .text)
        /// The last name.
        public let lastName = Query<Identity>.Property<String, QueryOperators.Text>(
            "lastName", .column("identity.last_name"), .text)
        /// The email address.
        public let emailAddress = Query<Identity>.Property<String, QueryOperators.Text>(
            "emailAddress", .column("identity.email_address"), .text)
        /// The phone number.
        public let phoneNumber = Query<Identity>.Property<String, QueryOperators.Lists>(
            "phoneNumber", .column("identity.phone_number"), .text)
        /// The URL of the picture.
        public let avatarImageURL = Query<Identity>.Property<String, QueryOperators.Lists>(
            "avatarImageURL", .column("identity.avatar_url"), .text)
        /// The public key.
        public let publicKey = Query<Identity>.Property<String, QueryOperators.Lists>(
            "publicKey", .column("identity.public_key"), .text)
        /// True if this user receives changes of the identity.
        public let isFollowed = Query<Identity>.Property<Bool, QueryOperators.Lists>(
            "followed", .column("identity.is_followed"), .bool)
        /// True if this user has blocked the identity.
        public let isBlocked = Query<Identity>.Property<Bool, QueryOperators.Lists>(
            "blocked", .column("identity.is_blocked"), .bool)
        /// The last known presence status.
        public let presenceStatus = Query<Identity>
            .Property<PresenceStatus, QueryOperators.Lists>(
                "presenceStatus", .column("identity.presence_status"), .presenceStatus)
        /// The time at which the user was last online.
        public let lastSeenAt = Query<Identity>.Property<Date, QueryOperators.Order>(
            "lastSeenAt", .column("identity.last_seen_at"), .date)
        /// All metadata, compared as a whole. With a key path: the text at that path.
        public let metadata = Query<Identity>
            .Property<[String: String], QueryOperators.Unsorted<QueryOperators.Equality>>(
                "metadata", .metadata(table: "identity"), .metadata)

        fileprivate var all: [QueryProperty] {
            [
                id.property, userID.property, displayName.property, firstName.property, lastName.property,
                emailAddress.property,
                phoneNumber.property, avatarImageURL.property, publicKey.property, isFollowed.property,
                isBlocked.property, presenceStatus.property,
                lastSeenAt.property,
                metadata.property,
            ]
        }
    }

    /// The properties of identities that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for identities in the store.
    public static let querySource = QuerySource<Identity>(
        tables: "identity", columns: "identity.*", condition: nil, idColumn: "identity.user_id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "isFollowed": "followed", "isBlocked": "blocked"], metadataTable: "identity",
        dependencies: [.identity],
        kind: .identity,
        id: { UserID(trusted: $0[0]).layerID },
        load: { _, rows in rows.map { StoreReader.identity(StoreReader.identityRecord($0)) } })
}
