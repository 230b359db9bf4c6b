// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension ServerRenderer {
    /// Writes a message.
    /// - Parameter form: the form. In 1.x an event has the form ``Form/read``.
    public func writeMessage(_ message: Message, form: Form, into writer: inout JSONWriter) {
        let isFirstEvent = form == .event && namesUsersByID
        let form = isFirstEvent ? .read : form
        writer.beginObject()
        writer.key("id")
        writer.messageID(message.id)
        writer.key("url")
        writer.string(
            form == .created && namesUsersByID
                ? renderer.url(of: message.id) : url(of: message.id, in: message.conversationID))
        if form == .read {
            writer.key("receipts_url")
            writer.string(reader.map { _ in "\(renderer.url(of: message.id))/receipts" })
        }
        if form != .created {
            writer.key("position")
            if namesUsersByID { writer.null() } else { writer.int(message.position.wireValue) }
        }
        writer.key("conversation")
        writeReference(to: message.conversationID, into: &writer)
        if form == .created, version == .v3 {
            writer.key("channel")
            writer.null()
        }
        writer.key("parts")
        writer.beginArray()
        for index in message.parts.indices { writePart(at: index, of: message, form: form, into: &writer) }
        writer.endArray()
        writer.key("sent_at")
        writer.timestamp(message.sentAt)
        writer.key("sender")
        writeSender(message.sender, form: form, into: &writer)
        writer.key("recipient_status")
        writer.beginObject()
        var statuses = shownStatuses(of: message)
        // In later versions, the keys are never array indexes.
        if isFirstEvent { statuses = statuses.inJavaScriptOrder { $0.0.rawValue } }
        for (user, status) in statuses {
            writer.key(escaping: key(of: user))
            writer.string(status.name)
        }
        writer.endObject()
        if form == .read { writeView(of: message, into: &writer) }
        writer.endObject()
    }

    /// Writes the members of the form ``Form/read``. Members that depend on a user are null without a reader.
    private func writeView(of message: Message, into writer: inout JSONWriter) {
        writer.key("received_at")
        writer.null()
        writer.key("is_unread")
        if let reader { writer.bool(message.isUnread(by: reader)) } else { writer.null() }
        writer.key("notification")
        writer.null()
        if version == .v3 {
            writer.key("reply_to")
            writer.null()
            writer.key("updated_at")
            writer.timestamp(message.updatedAt)
        }
    }

    /// Returns the statuses to show: all of them without a reader, otherwise those that the reader may see.
    private func shownStatuses(of message: Message) -> [(UserID, RecipientStatus)] {
        guard let reader else { return message.recipients.map { ($0.userID, $0.status) } }
        if message.sender.userID == reader
            || message.recipients.count <= renderer.fullReceiptRecipients && message.receiptPolicy.isEmpty
        {
            return message.recipients.map { ($0.userID, $0.shownStatus) }
        }
        return message.recipients.filter { $0.userID == reader || $0.userID == message.sender.userID }
            .map { ($0.userID, $0.status) }
    }
}
