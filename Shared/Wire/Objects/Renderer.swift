// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import Model
import NIOCore

/// Writes every object of the public protocol as one reader must see it.
///
/// URLs are always built from the configured public base, since clients only follow absolute ones that begin with `https://` (spec 1.1).
public struct Renderer: Sendable {
    /// Without a trailing slash.
    public let baseURL: String
    /// Without a trailing slash.
    public let webSocketURL: String
    /// Messages with more recipients than this show everybody's status to their sender only; another reader is shown the sender's and his own
    /// (ARCHITECTURE §13).
    public let fullReceiptRecipients: Int
    /// The value of the `Link` header (spec 3.1).
    public let linkHeader: String

    // What stands before the changing part of a URL, with the opening quote and escaped.
    let identityURL: [UInt8]
    let conversationURL: [UInt8]
    let messageURL: [UInt8]
    let errorURL: [UInt8]

    /// - Parameters:
    ///   - baseURL: `https://host[:port][/prefix]`.
    ///   - webSocketURL: the same for `wss://`.
    ///   - fullReceiptRecipients: see ``fullReceiptRecipients``.
    public init(baseURL: String, webSocketURL: String, fullReceiptRecipients: Int = 25) {
        let base = Renderer.withoutTrailingSlashes(baseURL)
        let socket = Renderer.withoutTrailingSlashes(webSocketURL)
        self.baseURL = base
        self.webSocketURL = socket
        self.fullReceiptRecipients = fullReceiptRecipients
        linkHeader =
            ["nonces", "sessions", "conversations", "content"].map { "<\(base)/\($0)>; rel=\($0), " }.joined() + "<\(socket)>; rel=websocket"
        identityURL = Renderer.openQuoted("\(base)/identities/")
        conversationURL = Renderer.openQuoted("\(base)/conversations/")
        messageURL = Renderer.openQuoted("\(base)/messages/")
        errorURL = Renderer.openQuoted("\(base)/docs/errors#")
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
    /// `"<identity id>":"<status>"`, a member of `recipient_status`.
    mutating func recipientStatus(_ recipient: Message.Recipient) {
        identityID(percentEncoded: recipient.userID.percentEncoded)
        literal(":\"")
        switch recipient.status {
        case .sent: literal("sent\"")
        case .delivered: literal("delivered\"")
        case .read: literal("read\"")
        }
        elementWritten()
    }
}
