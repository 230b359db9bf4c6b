// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension ServerRenderer {
    /// Writes a conversation for an event, independent of a reader.
    public func writeConversation(_ conversation: Conversation, into writer: inout JSONWriter) {
        writer.beginObject()
        writeShared(conversation, isParticipant: true, order: .javaScript, into: &writer)
        writer.endObject()
    }

    /// Writes a conversation as seen by ``reader``, with the reader's last message and unread count.
    public func writeConversation(_ view: ConversationView, into writer: inout JSONWriter) {
        writer.beginObject()
        writeShared(view.conversation, isParticipant: view.isParticipant, into: &writer)
        if reader != nil {
            writer.key("last_message")
            if let message = view.lastMessage {
                writeMessage(message, form: .read, into: &writer)
            } else {
                writer.null()
            }
            writer.key("unread_message_count")
            writer.int(view.unreadCount)
        }
        writer.endObject()
    }

    /// Writes the id and the URL of a conversation, as a reference in other objects.
    public func writeReference(to id: ConversationID, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.conversationID(id)
        writer.key("url")
        writer.string(url(of: id))
        writer.endObject()
    }

    private func writeShared(
        _ conversation: Conversation, isParticipant: Bool, order: KeyOrder = .bytes, into writer: inout JSONWriter
    ) {
        writer.key("id")
        writer.conversationID(conversation.id)
        writer.key("url")
        writer.string(url(of: conversation.id))
        writer.key("messages_url")
        writer.string("\(url(of: conversation.id))/messages")
        writer.key("created_at")
        writer.timestamp(conversation.createdAt)
        writer.key("participants")
        writer.beginArray()
        if isParticipant { for participant in conversation.participants { writeIdentity(participant, into: &writer) } }
        writer.endArray()
        writer.key("distinct")
        writer.bool(conversation.isDistinct)
        // An event omits metadata that is too large for it.
        if conversation.metadata == nil, order == .javaScript { return }
        writer.key("metadata")
        renderer.writeMetadata(conversation.metadata ?? MetadataTree(), order: order, into: &writer)
    }
}
