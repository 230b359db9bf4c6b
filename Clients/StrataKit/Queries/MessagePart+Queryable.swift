// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

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
