// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

/// Writes every object of the public protocol as one reader must see it.
///
/// URLs are always built from the configured public base, since clients only follow absolute ones that begin with `https://`
/// (docs/conformance.md §1.1).
public struct Renderer: Sendable {
    /// Without a trailing slash.
    public private(set) var baseURL: String
    /// Without a trailing slash.
    public let webSocketURL: String
    /// Messages with more recipients than this show all statuses to their sender only; another reader is shown the sender's and their own
    /// (docs/conformance.md §7).
    public let fullReceiptRecipients: Int
    /// A packet whose text is longer is split, see ``frameBytes``.
    let packetBytes: Int
    /// Where rich content can be fetched for a while, by any client.
    public let locateContent: @Sendable (ContentID) -> ContentLocation
    /// The value of the `Link` header (docs/conformance.md §3.1).
    public let linkHeader: String

    // What stands before the changing part of a URL, with the opening quote and escaped.
    private(set) var identityURL: [UInt8]
    private(set) var conversationURL: [UInt8]
    private(set) var messageURL: [UInt8]
    private(set) var announcementURL: [UInt8]
    private(set) var contentURL: [UInt8]
    let errorURL: [UInt8]

    /// - Parameters:
    ///   - baseURL: `https://host[:port][/prefix]`.
    ///   - webSocketURL: the same for `wss://`.
    ///   - fullReceiptRecipients: see ``fullReceiptRecipients``.
    ///   - frameBytes: the largest frame, see ``frameBytes``.
    ///   - locateContent: signs a URL for a piece of rich content; called for every part that has some, every time it is written.
    public init(
        baseURL: String, webSocketURL: String, fullReceiptRecipients: Int = 25, frameBytes: Int = Renderer.frameBytes,
        locateContent: @escaping @Sendable (ContentID) -> ContentLocation = { _ in ContentLocation(downloadURL: nil, expiration: nil) }
    ) {
        let base = Renderer.withoutTrailingSlashes(baseURL)
        let socket = Renderer.withoutTrailingSlashes(webSocketURL)
        self.baseURL = base
        self.webSocketURL = socket
        self.fullReceiptRecipients = fullReceiptRecipients
        self.locateContent = locateContent
        packetBytes = frameBytes - Renderer.frameReserve
        linkHeader =
            ["nonces", "sessions", "conversations", "content"].map { "<\(base)/\($0)>; rel=\($0), " }.joined() + "<\(socket)>; rel=websocket"
        identityURL = Renderer.openQuoted("\(base)/identities/")
        conversationURL = Renderer.openQuoted("\(base)/conversations/")
        messageURL = Renderer.openQuoted("\(base)/messages/")
        announcementURL = Renderer.openQuoted("\(base)/announcements/")
        contentURL = Renderer.openQuoted("\(base)/content/")
        errorURL = Renderer.openQuoted("\(base)/docs/errors#")
    }

    /// The same for a caller who finds all objects below another path. Links for signing in, and descriptions of errors, stay where they are.
    /// - Parameter path: with a slash in front and none at the end; percent-encoded where it must be.
    public func below(_ path: String) -> Renderer {
        var renderer = self
        let base = baseURL + path
        renderer.baseURL = base
        renderer.identityURL = Renderer.openQuoted("\(base)/identities/")
        renderer.conversationURL = Renderer.openQuoted("\(base)/conversations/")
        renderer.messageURL = Renderer.openQuoted("\(base)/messages/")
        renderer.announcementURL = Renderer.openQuoted("\(base)/announcements/")
        renderer.contentURL = Renderer.openQuoted("\(base)/content/")
        return renderer
    }

    /// Where a conversation is found.
    public func url(of id: ConversationID) -> String { "\(baseURL)/conversations/\(id)" }
    /// Where a message is found.
    public func url(of id: MessageID) -> String { "\(baseURL)/messages/\(id)" }
    /// Where an identity is found.
    public func url(of user: UserID) -> String { "\(baseURL)/identities/\(user.percentEncoded)" }

    private static func withoutTrailingSlashes(_ url: String) -> String {
        var rest = url[...]
        while rest.last == "/" { rest = rest.dropLast() }
        return String(rest)
    }

    private static func openQuoted(_ text: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.string(text)
        return Array(writer.bytes.dropLast())
    }
}

extension JSONWriter {
    mutating func conversationID(_ id: ConversationID) { string(prefix: "\"layer:///conversations/", uuid: id.rawValue) }
    mutating func messageID(_ id: MessageID) { string(prefix: "\"layer:///messages/", uuid: id.rawValue) }
    /// The id of an identity; percent-encoded text needs no escaping.
    mutating func identityID(percentEncoded user: String) {
        separate()
        literal("\"layer:///identities/")
        plain(user)
        closeString()
    }
    mutating func announcementID(_ id: AnnouncementID) { string(prefix: "\"layer:///announcements/", uuid: id.rawValue) }
    mutating func contentID(_ id: ContentID) { string(prefix: "\"layer:///content/", uuid: id.rawValue) }
    /// `"<identity id>":"<status>"`, a member of `recipient_status`.
    mutating func recipientStatus(of user: UserID, is status: RecipientStatus) {
        identityID(percentEncoded: user.percentEncoded)
        literal(":\"")
        switch status {
        case .sent: literal("sent\"")
        case .delivered: literal("delivered\"")
        case .read: literal("read\"")
        }
        elementWritten()
    }
}
