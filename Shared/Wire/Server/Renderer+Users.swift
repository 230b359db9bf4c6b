// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

/// A session as an app's own server is shown it.
public struct SessionSummary: Hashable, Sendable {
    /// By which it is ended. It tells nothing of the token.
    public var id: UUID
    /// When the user signed in.
    public var createdAt: Timestamp
    /// At most a day before the last use.
    public var lastUsedAt: Timestamp
    /// When it ends, if it is not used before.
    public var expiresAt: Timestamp

    /// As the database has it.
    public init(id: UUID, createdAt: Timestamp, lastUsedAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
    }
}

/// What a user has not read.
public struct BadgeSummary: Hashable, Sendable {
    /// As the app's own server says.
    public var external: Int64
    /// Conversations with unread messages.
    public var conversations: Int64
    /// Unread messages.
    public var messages: Int64

    /// None of them is negative.
    public init(external: Int64, conversations: Int64, messages: Int64) {
        self.external = external
        self.conversations = conversations
        self.messages = messages
    }
}

/// Objects about users, as an app's own server reads them. The renderer is one that leads to the paths of the app.
extension Renderer {
    /// A full identity, with every member.
    public func writeIdentity(_ identity: Identity, version: ServerVersion, into writer: inout JSONWriter) {
        let user = identity.basic.userID
        writer.beginObject()
        writer.key("id")
        writer.string(user.layerID)
        writer.key("url")
        writer.string(ServerRenderer(self, version: version).url(ofIdentity: user))
        writer.key("user_id")
        writer.string(user.rawValue)
        let texts: [(StaticString, String?)] = [
            ("display_name", identity.basic.displayName), ("avatar_url", identity.basic.avatarURL), ("first_name", identity.firstName),
            ("last_name", identity.lastName), ("phone_number", identity.phoneNumber), ("email_address", identity.emailAddress),
            ("public_key", identity.publicKey),
        ]
        for (name, text) in texts {
            writer.key(name)
            writer.string(text)
        }
        switch version {
        case .v1, .v1_1: break
        case .v2:
            writer.key("type")
            writer.string(constant: identity.kind == .bot ? "Bot" : "User")
        case .v3:
            writer.key("identity_type")
            writer.string(identity.kind.rawValue)
        }
        writer.key("metadata")
        writeIdentityMetadata(identity.metadata, into: &writer)
        writer.endObject()
    }

    /// A user, whether they have an identity or not.
    public func writeUser(_ identity: Identity, isSuspended: Bool, version: ServerVersion, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.string(identity.basic.userID.layerID)
        writer.key("identity")
        writeIdentity(identity, version: version, into: &writer)
        writer.key("suspended")
        writer.bool(isSuspended)
        writer.endObject()
    }

    /// A session of a user.
    public func writeSession(_ session: SessionSummary, of user: UserID, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("id")
        writer.string(session.id.lowercaseText)
        writer.key("url")
        writer.string("\(baseURL)/users/\(user.percentEncoded)/sessions/\(session.id.lowercaseText)")
        writer.key("created_at")
        writer.timestamp(session.createdAt)
        writer.key("last_used_at")
        writer.timestamp(session.lastUsedAt)
        writer.key("expires_at")
        writer.timestamp(session.expiresAt)
        writer.endObject()
    }

    /// What a user has not read.
    public func writeBadge(_ badge: BadgeSummary, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("external_unread_count")
        writer.int(badge.external)
        writer.key("unread_conversation_count")
        writer.int(badge.conversations)
        writer.key("unread_message_count")
        writer.int(badge.messages)
        writer.endObject()
    }

    /// An announcement as the server that sent it is answered: it has no position and no statuses.
    /// - Parameter recipients: of the request.
    public func writeSentAnnouncement(
        _ id: AnnouncementID, sender: MessageSender, recipients: [UserID], sentAt: Timestamp, parts: [MessagePart], version: ServerVersion,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("id")
        writer.announcementID(id)
        writer.key("url")
        writer.string("\(baseURL)/announcements/\(id)")
        writer.key("sent_at")
        writer.timestamp(sentAt)
        writer.key("recipients")
        writer.beginArray()
        for user in recipients { writer.string(version < .v2 ? user.rawValue : user.layerID) }
        writer.endArray()
        writer.key("sender")
        ServerRenderer(self, version: version).writeSender(sender, form: .created, into: &writer)
        writer.key("parts")
        writer.beginArray()
        for part in parts { writeSentPart(part, of: id, version: version, into: &writer) }
        writer.endArray()
        writer.endObject()
    }

    /// In 1.x a part that was just created has no id.
    private func writeSentPart(_ part: MessagePart, of id: AnnouncementID, version: ServerVersion, into writer: inout JSONWriter) {
        writer.beginObject()
        if version >= .v2 {
            writer.key("id")
            writer.string("\(id.layerID)/parts/\(part.id.lowercaseText)")
        }
        writer.key("mime_type")
        writer.string(part.mimeType)
        ServerRenderer(self, version: version).writeBody(of: part, leavingOutNulls: version < .v2, into: &writer)
        if version >= .v2 {
            writer.key("content")
            writer.null()
        }
        writer.endObject()
    }
}
