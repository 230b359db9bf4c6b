// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Writes a conversation for `reader` (docs/conformance.md §5.1), with extension members: `position` of its last
    /// change, `epoch` of the database, and the announced receipts.
    ///
    /// Metadata that was not loaded is written as an empty object, so the caller must load it before.
    public func writeConversation(
        _ view: ConversationView, for reader: UserID, version: WireVersion, into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writeMembers(of: view, for: reader, version: version, into: &writer)
        writer.endObject()
    }

    /// Writes the members of a conversation, without braces.
    func writeMembers(
        of view: ConversationView, for reader: UserID, version: WireVersion, into writer: inout JSONWriter
    ) {
        writeShared(view.conversation, isParticipant: view.isParticipant, into: &writer)
        writer.key("last_message")
        if let message = view.lastMessage {
            writeMessage(message, for: reader, version: version, into: &writer)
        } else {
            writer.null()
        }
        writer.key("unread_message_count")
        writer.int(view.unreadCount)
        writer.key("total_message_count")
        writer.int(view.totalCount)
    }

    /// Writes a conversation without messages.
    func writeNewConversation(_ conversation: Conversation, into writer: inout JSONWriter) {
        writer.beginObject()
        writeShared(conversation, isParticipant: true, into: &writer)
        writer.key("last_message")
        writer.null()
        writer.key("unread_message_count")
        writer.int(0)
        writer.key("total_message_count")
        writer.int(0)
        writer.endObject()
    }

    private func writeShared(_ conversation: Conversation, isParticipant: Bool, into writer: inout JSONWriter) {
        writer.key("id")
        writer.conversationID(conversation.id)
        writer.key("url")
        writer.string(prefix: conversationURL, uuid: conversation.id.rawValue)
        writer.key("messages_url")
        writer.openString(conversationURL)
        writer.uuid(conversation.id.rawValue)
        writer.literal("/messages")
        writer.closeString()
        writer.key("created_at")
        writer.timestamp(conversation.createdAt)
        writer.key("participants")
        writer.beginArray()
        // Clients stop sending receipts when the list is empty. They detect their removal by it (docs/conformance.md
        // §5.2).
        if isParticipant {
            for participant in conversation.participants { writeBasicIdentity(participant, into: &writer) }
        }
        writer.endArray()
        writer.key("distinct")
        writer.bool(conversation.isDistinct)
        writer.key("metadata")
        writeMetadata(conversation.metadata ?? MetadataTree(), into: &writer)
        writer.key("delivery_receipts")
        writer.bool(!conversation.receiptPolicy.contains(.noDelivery))
        writer.key("read_receipts")
        writer.bool(!conversation.receiptPolicy.contains(.noRead))
        writer.key("position")
        writer.int(conversation.position.rawValue)
        writer.key("epoch")
        writer.string(conversation.epoch)
    }

    /// Writes a metadata tree.
    /// - Parameter order: the order of the keys in each of its objects.
    public func writeMetadata(_ tree: MetadataTree, order: KeyOrder = .bytes, into writer: inout JSONWriter) {
        writer.beginObject()
        for (key, value) in order.sorted(tree.children) {
            writer.key(escaping: key)
            switch value {
            case .text(let text): writer.string(text)
            case .tree(let tree): writeMetadata(tree, order: order, into: &writer)
            }
        }
        writer.endObject()
    }
}
