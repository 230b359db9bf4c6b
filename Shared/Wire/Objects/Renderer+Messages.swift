// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import Model
import NIOCore

extension Renderer {
    /// A message as `reader` sees it (spec 6.1).
    /// - Parameter withNotification: whether the `notification` is shown; only a `create` packet does, and only to those who have not read it.
    public func write(
        _ message: Message, for reader: UserID, version: WireVersion, withNotification: Bool = false, into writer: inout JSONWriter
    ) {
        let kind = MessageReader(reader, of: message)
        _ = write(message, for: kind, version: version, into: &writer) { writer, status in
            writer.recipientStatus(Message.Recipient(userID: reader, status: status))
        }
        if withNotification, kind.isUnread, let notification = message.notification { writer.reopenObject(adding: "notification", raw: notification) }
    }

    /// Writes everything but the notification. In a large conversation the reader's own status stands in a place of its own: `ownStatus`
    /// is called when it is due, right after the sender's.
    func write<Result>(
        _ message: Message, for reader: MessageReader, version: WireVersion, into writer: inout JSONWriter,
        ownStatus: (inout JSONWriter, RecipientStatus) -> Result
    ) -> Result? {
        writer.beginObject()
        writeHead(of: message, into: &writer)
        writer.key("parts")
        writer.beginArray()
        for (index, part) in message.parts.enumerated() { write(part, at: index, of: message.id, version: version, into: &writer) }
        writer.endArray()
        writer.key("sent_at")
        writer.timestamp(message.sentAt)
        writer.key("updated_at")
        writer.null()
        writer.key("sender")
        write(message.sender, into: &writer)
        writer.key("is_unread")
        writer.bool(reader.isUnread)
        writer.key("recipient_status")
        let result = writeRecipients(of: message, for: reader, into: &writer, ownStatus: ownStatus)
        writer.endObject()
        return result
    }

    private func writeHead(of message: Message, into writer: inout JSONWriter) {
        writer.key("id")
        writer.messageID(message.id)
        writer.key("url")
        writer.string(prefix: messageURL, uuid: message.id.rawValue)
        writer.key("receipts_url")
        writer.openString(messageURL)
        writer.uuid(message.id.rawValue)
        writer.literal("/receipts")
        writer.closeString()
        writer.key("position")
        writer.int(message.position.wireValue)
        writer.key("conversation")
        writer.beginObject()
        writer.key("id")
        writer.conversationID(message.conversationID)
        writer.key("url")
        writer.string(prefix: conversationURL, uuid: message.conversationID.rawValue)
        writer.endObject()
    }

    /// 2.0 numbers the parts, 3.0 names them (spec 15).
    private func write(_ part: MessagePart, at index: Int, of message: MessageID, version: WireVersion, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.separate()
        writer.literal("\"layer:///messages/")
        writePartPath(part, at: index, of: message, version: version, into: &writer)
        if version == .v3 {
            writer.key("url")
            writer.openString(messageURL)
            writePartPath(part, at: index, of: message, version: version, into: &writer)
            writer.key("message_url")
            writer.string(prefix: messageURL, uuid: message.rawValue)
        }
        writer.key("mime_type")
        writer.string(part.mimeType)
        if let body = part.body {
            writer.key("body")
            writer.string(body)
        }
        if let encoding = part.encoding {
            writer.key("encoding")
            writer.string(encoding)
        }
        writer.key("size")
        writer.int(part.size)
        writer.endObject()
    }

    private func writePartPath(_ part: MessagePart, at index: Int, of message: MessageID, version: WireVersion, into writer: inout JSONWriter) {
        writer.uuid(message.rawValue)
        writer.literal("/parts/")
        switch version {
        case .v2: writer.digits(Int64(index))
        case .v3: writer.uuid(part.id)
        }
        writer.closeString()
    }

    private func writeRecipients<Result>(
        of message: Message, for reader: MessageReader, into writer: inout JSONWriter,
        ownStatus: (inout JSONWriter, RecipientStatus) -> Result
    ) -> Result? {
        writer.beginObject()
        defer { writer.endObject() }
        if reader == .sender || message.recipients.count <= fullReceiptRecipients {
            for recipient in message.recipients { writer.recipientStatus(recipient) }
            return nil
        }
        writer.recipientStatus(Message.Recipient(userID: message.sender.userID, status: .read))
        guard case .recipient(let status) = reader else { return nil }
        return ownStatus(&writer, status)
    }
}

extension JSONWriter {
    /// Adds a last member to the object that has just been ended and has at least one already.
    mutating func reopenObject(adding name: StaticString, raw json: String) {
        dropLast()
        key(name)
        raw(json)
        endObject()
    }
}
