// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Returns the URL of the part of a list that follows one of its objects.
    /// - Parameters:
    ///   - list: the list's path, beginning with a slash.
    ///   - query: the query of the page request. Its parameters are repeated, except for `from_id`.
    public func url(ofList list: String, query: String? = nil, after id: String) -> String {
        var parameters = (query ?? "").split(separator: "&").filter { !Self.isCursor($0) }
            .map { Self.escaped($0) { Self.queryCharacters.contains($0) } }
        parameters.append("from_id=" + Self.escaped(id[...]) { Self.plainCharacters.contains($0) })
        return "\(baseURL)\(list)?\(parameters.joined(separator: "&"))"
    }

    /// Returns the value of the `Link` header of a page that is followed by another one.
    public func nextPage(ofList list: String, query: String?, after id: String) -> String {
        "<\(url(ofList: list, query: query, after: id))>; rel=\"next\""
    }

    private static func isCursor(_ parameter: Substring) -> Bool { parameter.prefix { $0 != "=" } == "from_id" }

    private static let plainCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    /// The characters allowed in the query of a URL. Existing escapes are preserved, and no allowed character can end
    /// the URL.
    private static let queryCharacters = plainCharacters.union("%!$'()*+,;=:@/?".utf8)

    private static func escaped(_ text: Substring, unless isPlain: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes +=
                    [UInt8(ascii: "%")]
                    + [byte >> 4, byte & 15].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "A") + $0 - 10 }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a conversation for `reader` with a member `messages`. If more of the requested messages exist, a member
    /// `messages_next` contains the URL of the next page.
    public func writeLoadedConversation(
        _ loaded: LoadedConversation, for reader: UserID, version: WireVersion, into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writeMembers(of: loaded.view, for: reader, version: version, into: &writer)
        writer.key("messages")
        writer.beginArray()
        for message in loaded.messages { writeMessage(message, for: reader, version: version, into: &writer) }
        writer.endArray()
        if loaded.isTruncated, let last = loaded.messages.last {
            writer.key("messages_next")
            writer.string(url(ofList: "/conversations/\(loaded.view.conversation.id)/messages", after: last.id.layerID))
        }
        writer.endObject()
    }
}

extension Renderer {
    /// Writes the response to receipts of several messages: the messages that the user does not see in the
    /// conversation.
    public func writeIgnoredMessages(_ messages: [MessageID], into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("ignored")
        writer.beginArray()
        for message in messages { writer.messageID(message) }
        writer.endArray()
        writer.endObject()
    }
}
