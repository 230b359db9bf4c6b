// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Writes objects for an app's own server, as the version that it speaks has them (docs/server-api.md).
///
/// One version of an object is made from the same value as the others: nothing is stored for a version.
public struct ServerRenderer: Sendable {
    /// How much of an object is written.
    public enum Form: Hashable, Sendable {
        /// The answer to a creation: what means something for a new object.
        case created
        /// The answer to a reading: all members, null where there is no value.
        case read
        /// Part of an event: what is the same for all users.
        case event
    }

    /// Leads to the paths at which the server finds objects: below `/apps/:app`, or below the path of the user whose view it asks for.
    public let renderer: Renderer
    /// What the server speaks.
    public let version: ServerVersion
    /// Whose view is written; nil: that of no user.
    public let reader: UserID?

    /// - Parameters:
    ///   - renderer: see ``renderer``.
    ///   - reader: see ``reader``.
    public init(_ renderer: Renderer, version: ServerVersion, reader: UserID? = nil) {
        self.renderer = renderer
        self.version = version
        self.reader = reader
    }

    /// Whether users are named by their ids alone.
    var namesUsersByID: Bool { version < .v2 }

    // MARK: URLs

    /// Where a conversation is found.
    public func url(of id: ConversationID) -> String { renderer.url(of: id) }

    /// Where a message is found.
    public func url(of message: MessageID, in conversation: ConversationID) -> String { "\(url(of: conversation))/messages/\(message)" }

    /// Where the identity of a user is found.
    public func url(ofIdentity user: UserID) -> String { "\(renderer.baseURL)/users/\(user.percentEncoded)/identity" }

    /// Where a fresh URL for content of a conversation is found.
    func url(of content: ContentID, in conversation: ConversationID) -> String {
        reader == nil ? "\(url(of: conversation))/content/\(content)" : "\(renderer.baseURL)/content/\(content)"
    }

    // MARK: Users

    /// A user where they are only mentioned.
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

    /// Who sent a message or an announcement: in 1.x an object with the user's id or with the name, since 2.0 an identity.
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
