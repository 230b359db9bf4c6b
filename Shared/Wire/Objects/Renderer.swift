// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

/// A renderer that writes the objects of the public protocol for one reader.
///
/// URLs are always built from the configured public base, because clients only follow absolute URLs that begin with
/// `https://` (docs/conformance.md §1.1).
public struct Renderer: Sendable {
    /// The base URL, without a trailing slash.
    public private(set) var baseURL: String
    /// The URL of the WebSocket endpoint, without a trailing slash.
    public let webSocketURL: String
    /// The maximum number of recipients for which a message shows all statuses to every reader. With more recipients,
    /// only the sender sees all; other readers see the sender's and their own status (docs/conformance.md §7).
    public let fullReceiptRecipients: Int
    /// The maximum size of a packet's text, in bytes. A longer packet is split, see ``frameBytes``.
    let packetBytes: Int
    /// A function that returns the temporary location of rich content, valid for any client.
    public let locateContent: @Sendable (ContentID) -> ContentLocation
    /// The value of the `Link` header (docs/conformance.md §3.1).
    public let linkHeader: String

    // The constant beginnings of URLs, escaped and with the opening quote.
    private(set) var identityURL: [UInt8]
    private(set) var conversationURL: [UInt8]
    private(set) var messageURL: [UInt8]
    private(set) var announcementURL: [UInt8]
    private(set) var contentURL: [UInt8]
    let errorURL: [UInt8]

    /// Creates a renderer.
    /// - Parameters:
    ///   - baseURL: `https://host[:port][/prefix]`.
    ///   - webSocketURL: the corresponding `wss://` URL.
    ///   - frameBytes: the maximum size of a frame, see ``frameBytes``.
    ///   - locateContent: signs a URL for rich content. It is called each time a part with rich content is written.
    public init(
        baseURL: String, webSocketURL: String, fullReceiptRecipients: Int = 25, frameBytes: Int = Renderer.frameBytes,
        locateContent: @escaping @Sendable (ContentID) -> ContentLocation = { _ in
            ContentLocation(downloadURL: nil, expiration: nil)
        }
    ) {
        let base = Renderer.withoutTrailingSlashes(baseURL)
        let socket = Renderer.withoutTrailingSlashes(webSocketURL)
        self.baseURL = base
        self.webSocketURL = socket
        self.fullReceiptRecipients = fullReceiptRecipients
        self.locateContent = locateContent
        packetBytes = frameBytes - Renderer.frameReserve
        linkHeader =
            ["nonces", "sessions", "conversations", "content"].map { "<\(base)/\($0)>; rel=\($0), " }.joined()
            + "<\(socket)>; rel=websocket"
        identityURL = Renderer.openQuoted("\(base)/identities/")
        conversationURL = Renderer.openQuoted("\(base)/conversations/")
        messageURL = Renderer.openQuoted("\(base)/messages/")
        announcementURL = Renderer.openQuoted("\(base)/announcements/")
        contentURL = Renderer.openQuoted("\(base)/content/")
        errorURL = Renderer.openQuoted("\(base)/docs/errors#")
    }

    /// Returns a renderer that places all objects below another path. Links for signing in and URLs of error
    /// descriptions do not change.
    /// - Parameter path: percent-encoded, with a leading slash and without a trailing one.
    public func withBasePath(_ path: String) -> Renderer {
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

    /// Returns the URL of a conversation.
    public func url(of id: ConversationID) -> String { "\(baseURL)/conversations/\(id)" }
    /// Returns the URL of a message.
    public func url(of id: MessageID) -> String { "\(baseURL)/messages/\(id)" }
    /// Returns the URL of an identity.
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
    mutating func conversationID(_ id: ConversationID) {
        string(prefix: "\"layer:///conversations/", uuid: id.rawValue)
    }
    mutating func messageID(_ id: MessageID) { string(prefix: "\"layer:///messages/", uuid: id.rawValue) }
    /// Writes the id of an identity. Percent-encoded text needs no escaping.
    mutating func identityID(percentEncoded user: String) {
        separate()
        literal("\"layer:///identities/")
        plain(user)
        closeString()
    }
    mutating func announcementID(_ id: AnnouncementID) {
        string(prefix: "\"layer:///announcements/", uuid: id.rawValue)
    }
    mutating func contentID(_ id: ContentID) { string(prefix: "\"layer:///content/", uuid: id.rawValue) }
    /// Writes `"<identity id>":"<status>"`, a member of `recipient_status`.
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

/// The signed URL of rich content, valid for a limited time. Any client with the URL can fetch the content
/// (docs/conformance.md §8).
public struct ContentLocation: Hashable, Sendable {
    /// The signed URL; nil before the content was uploaded.
    public var downloadURL: String?
    /// The time at which ``downloadURL`` expires.
    public var expiration: Timestamp?
    /// Creates a location. Both values must be nil, or none.
    public init(downloadURL: String?, expiration: Timestamp?) {
        self.downloadURL = downloadURL
        self.expiration = expiration
    }
}
