// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

extension Renderer {
    /// Writes a message for `reader` (docs/conformance.md §6.1).
    /// - Parameter withNotification: true to include the `notification`. Only a `create` packet does, and only for
    ///   readers who have not read the message.
    public func writeMessage(
        _ message: Message, for reader: UserID, version: WireVersion, withNotification: Bool = false,
        into writer: inout JSONWriter
    ) {
        let kind = MessageReader(reader, of: message)
        _ = writeMessage(message, for: kind, version: version, into: &writer) { writer, status in
            writer.recipientStatus(of: reader, is: status)
        }
        if withNotification, kind.isUnread, let notification = message.notification {
            writer.reopenObject(adding: "notification", raw: notification)
        }
    }

    /// Writes a message without its notification. In a large conversation, `ownStatus` writes the reader's own status.
    /// It is called right after the sender's status was written, and its result is returned.
    func writeMessage<Result>(
        _ message: Message, for reader: MessageReader, version: WireVersion, into writer: inout JSONWriter,
        ownStatus: (inout JSONWriter, RecipientStatus) -> Result
    ) -> Result? {
        writer.beginObject()
        writeHead(of: message, into: &writer)
        writer.key("parts")
        writer.beginArray()
        for (index, part) in message.parts.enumerated() {
            writePart(part, at: index, of: .message(message.id), version: version, into: &writer)
        }
        writer.endArray()
        writer.key("sent_at")
        writer.timestamp(message.sentAt)
        writer.key("updated_at")
        writer.timestamp(message.updatedAt)
        writer.key("sender")
        writeSender(message.sender, into: &writer)
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

    private func writeRecipients<Result>(
        of message: Message, for reader: MessageReader, into writer: inout JSONWriter,
        ownStatus: (inout JSONWriter, RecipientStatus) -> Result
    ) -> Result? {
        writer.beginObject()
        defer { writer.endObject() }
        // If some receipts are disabled, only the sender needs the others' statuses (docs/conformance.md §7).
        if reader == .sender || message.recipients.count <= fullReceiptRecipients && message.receiptPolicy.isEmpty {
            for recipient in message.recipients {
                writer.recipientStatus(of: recipient.userID, is: recipient.shownStatus)
            }
            return nil
        }
        if let sender = message.sender.userID, message.status(of: sender) != nil {
            writer.recipientStatus(of: sender, is: .read)
        }
        guard case .recipient(let status) = reader else { return nil }
        return ownStatus(&writer, status)
    }
}

extension JSONWriter {
    /// Adds a last member to the object that has just ended. The object must have at least one member.
    mutating func reopenObject(adding name: StaticString, raw json: String) {
        dropLast()
        key(name)
        raw(json)
        endObject()
    }
}

/// The reader's relation to a message. It determines the rendering completely, so that readers with an equal value
/// share one rendering.
enum MessageReader: Hashable, Sendable {
    /// The sender of the message.
    case sender
    case recipient(RecipientStatus)
    /// A reader who is not a recipient.
    case bystander

    init(_ reader: UserID, of message: Message) {
        if message.sender.userID == reader {
            self = .sender
        } else if let status = message.status(of: reader) {
            self = .recipient(status)
        } else {
            self = .bystander
        }
    }

    var isUnread: Bool {
        switch self {
        case .recipient(let status): status < .read
        case .sender, .bystander: false
        }
    }
}
