// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// A renderer that writes objects for an app's own server in the requested version (docs/server-api.md).
///
/// All versions of an object are rendered from the same value. Nothing is stored per version.
public struct ServerRenderer: Sendable {
    /// The members with which an object is written.
    public enum Form: Hashable, Sendable {
        /// The response to a creation: only members that are meaningful for a new object.
        case created
        /// The response to a read: all members, null if there is no value.
        case read
        /// A part of an event: only members that are equal for all users.
        case event
    }

    /// The renderer of the server's paths: below `/apps/:app`, or below the path of the user whose view is requested.
    public let renderer: Renderer
    /// The version of the Server API.
    public let version: ServerVersion
    /// The user whose view is written; nil: none.
    public let reader: UserID?

    /// Creates a renderer.
    public init(_ renderer: Renderer, version: ServerVersion, reader: UserID? = nil) {
        self.renderer = renderer
        self.version = version
        self.reader = reader
    }

    var namesUsersByID: Bool { version < .v2 }

    // MARK: URLs

    /// Returns the URL of a conversation.
    public func url(of id: ConversationID) -> String { renderer.url(of: id) }

    /// Returns the URL of a message.
    public func url(of message: MessageID, in conversation: ConversationID) -> String {
        "\(url(of: conversation))/messages/\(message)"
    }

    /// Returns the URL of a user's identity.
    public func url(ofIdentity user: UserID) -> String { "\(renderer.baseURL)/users/\(user.percentEncoded)/identity" }

    /// Returns the URL that provides a new download URL for content of a conversation.
    func url(of content: ContentID, in conversation: ConversationID) -> String {
        reader == nil ? "\(url(of: conversation))/content/\(content)" : "\(renderer.baseURL)/content/\(content)"
    }

    // MARK: Users

    /// Writes a user who is only mentioned.
    public func writeIdentity(_ identity: BasicIdentity, into writer: inout JSONWriter) {
        guard !namesUsersByID else { return writer.string(identity.userID.rawValue) }
        writer.beginObject()
        writer.key("id")
        writer.string(identity.userID.layerID)
        writer.key("url")
        writer.string(url(ofIdentity: identity.userID))
        writer.key("user_id")
        writer.string(identity.userID.rawValue)
        writer.key("display_name")
        writer.string(identity.displayName)
        writer.key("avatar_url")
        writer.string(identity.avatarURL)
        writer.endObject()
    }

    /// Writes the sender of a message or an announcement: in 1.x an object with the user's id or the name, since 2.0 an
    /// identity.
    public func writeSender(_ sender: MessageSender, form: Form, into writer: inout JSONWriter) {
        guard namesUsersByID else {
            switch sender {
            case .user(let identity): return writeIdentity(identity, into: &writer)
            case .name: return renderer.writeSender(sender, into: &writer)
            }
        }
        writer.beginObject()
        if case .user(let identity) = sender {
            writer.key("user_id")
            writer.string(identity.userID.rawValue)
        } else if form != .created {
            writer.key("user_id")
            writer.null()
        }
        if case .name(let name) = sender {
            writer.key("name")
            writer.string(name)
        } else if form != .created {
            writer.key("name")
            writer.null()
        }
        writer.endObject()
    }

    func key(of user: UserID) -> String { namesUsersByID ? user.rawValue : user.layerID }
}

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

extension ServerRenderer {
    /// Writes an error object. An object in it has the form ``Form/read``. The member `data` is omitted if there are no
    /// details.
    public func writeFailure(_ failure: Failure, into writer: inout JSONWriter) {
        let hasData: Bool = if case .none = failure.detail { false } else { true }
        renderer.writeFailure(failure, hasData: hasData, into: &writer) { writer in
            switch failure.detail {
            case .conversation(let view): writeConversation(view, into: &writer)
            case .message(let message): writeMessage(message, form: .read, into: &writer)
            case .none, .property, .header, .nonce, .predecessor:
                renderer.writeDetail(failure.detail, for: nil, version: version.clientVersion, into: &writer)
            }
        }
    }
}
