// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

/// Queries find the parts of messages, not those of announcements.
extension MessagePart: Queryable {
    /// The properties of message parts that queries can name.
    public struct QueryProperties: Sendable {
        /// Its id.
        public let id = Query<MessagePart>.Property<UUID, QueryOperators.Lists>("identifier", .column("part.id"), .part)
        /// The message that contains it.
        public let messageID = Query<MessagePart>.Property<MessageID, QueryOperators.Lists>("message", .column("part.message"), .message)
        /// The conversation of that message, by the present id or a former one.
        public let conversationID = Query<MessagePart>
            .Property<ConversationID, QueryOperators.Lists>("message.conversation", .column("message.conversation"), .conversation)
        /// For example `text/plain`.
        public let mimeType = Query<MessagePart>.Property<String, QueryOperators.Lists>("MIMEType", .column("part.mime_type"), .text)
        /// Its place among the parts of the message.
        public let index = Query<MessagePart>.Property<Int, QueryOperators.Numbers>("index", .column("part.idx"), .integer)
        /// Bytes.
        public let size = Query<MessagePart>.Property<Int, QueryOperators.Numbers>("size", .column("part.size"), .integer)
        /// Where the bytes of the part are.
        public let transferStatus = Query<MessagePart>
            .Property<ContentTransferStatus, QueryOperators.Lists>("transferStatus", .column("part.transfer_status"), .transferStatus)

        fileprivate var all: [QueryProperty] {
            [
                id.property, messageID.property, conversationID.property, mimeType.property, index.property, size.property, transferStatus.property,
            ]
        }
    }

    /// The properties of message parts that queries can name.
    public static let queryProperties = QueryProperties()

    /// Message parts in the store.
    public static let querySource = QuerySource<MessagePart>(
        tables: "part JOIN message ON message.id = part.message", columns: "part.*", condition: nil, idColumn: "part.id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "messageID": "message", "mimeType": "MIMEType", "message.identifier": "message"], metadataTable: nil,
        dependencies: [.message, .messagePart], kind: .messagePart, id: { $0[0] }, load: { reader, rows in rows.map { reader.messagePart($0) } })
}
