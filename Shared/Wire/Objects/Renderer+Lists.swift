// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Where a list goes on after one of its objects.
    /// - Parameters:
    ///   - list: the list's path, beginning with a slash.
    ///   - query: of the request for a page, as it came. Its parameters are repeated, except for `from_id`.
    ///   - id: of the object.
    public func url(ofList list: String, query: String? = nil, after id: String) -> String {
        var parameters = (query ?? "").split(separator: "&").filter { !Self.isCursor($0) }
            .map { Self.escaped($0) { Self.queryCharacters.contains($0) } }
        parameters.append("from_id=" + Self.escaped(id[...]) { Self.plainCharacters.contains($0) })
        return "\(baseURL)\(list)?\(parameters.joined(separator: "&"))"
    }

    /// The value of the `Link` header of a page that has another one behind it.
    public func nextPage(ofList list: String, query: String?, after id: String) -> String {
        "<\(url(ofList: list, query: query, after: id))>; rel=\"next\""
    }

    private static func isCursor(_ parameter: Substring) -> Bool { parameter.prefix { $0 != "=" } == "from_id" }

    private static let plainCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    /// Those that may stand in the query of a URL. What is escaped already stays so, and nothing in it can end the URL.
    private static let queryCharacters = plainCharacters.union("%!$'()*+,;=:@/?".utf8)

    private static func escaped(_ text: Substring, unless isPlain: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%")] + [byte >> 4, byte & 15].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "A") + $0 - 10 }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A conversation as `reader` sees it, with a further member `messages` and, if there are more that were asked for, `messages_next`: where the list of the
    /// conversation's messages goes on.
    public func writeLoadedConversation(_ loaded: LoadedConversation, for reader: UserID, version: WireVersion, into writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(of: loaded.view, for: reader, version: version, into: &writer)
        writer.key("messages")
        writer.beginArray()
        for message in loaded.messages { writeMessage(message, for: reader, version: version, into: &writer) }
        writer.endArray()
        if loaded.isCut, let last = loaded.messages.last {
            writer.key("messages_next")
            writer.string(url(ofList: "/conversations/\(loaded.view.conversation.id)/messages", after: last.id.layerID))
        }
        writer.endObject()
    }
}
