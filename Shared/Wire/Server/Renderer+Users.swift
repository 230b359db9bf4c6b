// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

/// A session of a user, for an app's own server.
public struct SessionSummary: Hashable, Sendable {
    /// The id for ending the session. It does not reveal the token.
    public var id: UUID
    /// The time of signing in.
    public var createdAt: Timestamp
    /// The time of the last use, up to one day too early.
    public var lastUsedAt: Timestamp
    /// The time at which the session expires unless it is used before.
    public var expiresAt: Timestamp

    /// Creates a summary from the database's values.
    public init(id: UUID, createdAt: Timestamp, lastUsedAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
    }
}

/// The counts of a user's unread items.
public struct BadgeSummary: Hashable, Sendable {
    /// The external count set by the app's own server.
    public var external: Int64
    /// The number of conversations with unread messages.
    public var conversations: Int64
    /// The number of unread messages.
    public var messages: Int64

    /// Creates a summary. The counts must not be negative.
    public init(external: Int64, conversations: Int64, messages: Int64) {
        self.external = external
        self.conversations = conversations
        self.messages = messages
    }
}

/// The rendering of objects about users for an app's own server. It requires a renderer of the app's paths, see
/// ``withBasePath(_:)``.
extension Renderer {
    /// Writes a full identity with all members.
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
            ("display_name", identity.basic.displayName), ("avatar_url", identity.basic.avatarURL),
            ("first_name", identity.firstName),
            ("last_name", identity.lastName), ("phone_number", identity.phoneNumber),
            ("email_address", identity.emailAddress),
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

    /// Writes a user, with or without an identity.
    public func writeUser(
        _ identity: Identity, isSuspended: Bool, version: ServerVersion, into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("id")
        writer.string(identity.basic.userID.layerID)
        writer.key("identity")
        writeIdentity(identity, version: version, into: &writer)
        writer.key("suspended")
        writer.bool(isSuspended)
        writer.endObject()
    }

    /// Writes a session of a user.
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

    /// Writes the counts of a user's unread items.
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

    /// Writes an announcement as the response to its sender, without position and statuses.
    public func writeSentAnnouncement(
        _ id: AnnouncementID, sender: MessageSender, recipients: [UserID], sentAt: Timestamp, parts: [MessagePart],
        version: ServerVersion,
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

    /// Writes a part of a sent announcement. In 1.x a newly created part has no id.
    private func writeSentPart(
        _ part: MessagePart, of id: AnnouncementID, version: ServerVersion, into writer: inout JSONWriter
    ) {
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
