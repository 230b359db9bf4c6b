// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

/// A parser for message parts in requests, sent with a message or to change one (docs/conformance.md §6.2, §6.5, §6.7).
public enum PartBody {
    /// Parses one part of an existing message.
    /// - Parameter version: the protocol version. A part from a 2.0 client receives a new id, because 2.0 has no part
    ///   ids.
    /// - Throws: ``Failure`` naming the invalid property.
    public static func part(
        _ json: JSONValue, of message: MessageID, version: WireVersion
    ) throws(Failure) -> MessagePart {
        let members = try Members(json)
        return try part(members, id: version == .v3 ? try id(members, of: message) : nil)
    }

    /// Parses all parts of a message.
    /// - Parameter message: the message's id, if known. The ids of the parts must begin with it.
    /// - Throws: ``Failure`` naming the invalid property, for example `parts.0.mime_type`.
    public static func parts(
        _ elements: [JSONValue], of message: MessageID?, version: WireVersion, limit: Int = Limits.partsPerMessage
    ) throws(Failure) -> [MessagePart] {
        guard !elements.isEmpty else { throw .invalid("parts", reason: "must have at least one element") }
        guard elements.count <= limit else { throw .invalid("parts", reason: "has more than \(limit) elements") }
        var parts: [MessagePart] = []
        parts.reserveCapacity(elements.count)
        var used: Set<UUID> = []
        var total = 0
        for (index, element) in elements.enumerated() {
            let members = try Members(element, at: .element("parts", index))
            let id = version == .v3 ? try id(members, of: message) : nil
            if let id, !used.insert(id).inserted {
                throw members.invalid("id", reason: "is also the id of another part")
            }
            let part = try part(members, id: id)
            if part.contentID == nil { total += part.size }
            guard total <= Limits.inlineMessageBytes else {
                throw .invalid(
                    "parts", reason: "have more than \(Limits.inlineMessageBytes) bytes in their bodies together")
            }
            parts.append(part)
        }
        return parts
    }

    /// Returns the id chosen by a 3.0 client: `<message id>/parts/<uuid>` or only the UUID.
    private static func id(_ members: Members, of message: MessageID?) throws(Failure) -> UUID? {
        guard let text = try members.string("id") else { return nil }
        if let uuid = UUID(text: text.utf8) { return uuid }
        let utf8 = text.utf8
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")),
            let uuid = UUID(text: utf8[utf8.index(after: slash)...])
        else {
            throw members.invalid("id", reason: "is not the id of a message part")
        }
        guard let message, utf8[..<slash].suffix(6).elementsEqual("/parts".utf8),
            MessageID(parsing: text[..<slash].dropLast(6)) == message
        else {
            throw members.invalid("id", reason: "does not begin with the id of the message")
        }
        return uuid
    }

    private static func part(_ members: Members, id: UUID?) throws(Failure) -> MessagePart {
        let id = id ?? UUID()
        let mimeType = try members.requiredString("mime_type")
        guard !mimeType.isEmpty else { throw members.invalid("mime_type", reason: "is empty") }
        if let content = members["content"] {
            guard members["body"] == nil else {
                throw members.invalid("content", reason: "cannot be given together with a body")
            }
            guard case .string(let text)? = content["id"], let contentID = ContentID(parsing: text) else {
                throw members.invalid("content", reason: "must have the id of content that was uploaded")
            }
            return MessagePart(
                id: id, mimeType: mimeType, body: nil, size: 0, contentID: contentID,
                statedSize: statedSize(content["size"]))
        }
        let body = try members.requiredString("body")
        switch try members.string("encoding") {
        case nil:
            // A text never has more UTF-16 units than bytes of UTF-8, so most need not be counted.
            guard body.utf8.count <= Limits.inlinePartUnits || body.utf16.count <= Limits.inlinePartUnits else {
                throw members.invalid("body", reason: "is longer than \(Limits.inlinePartUnits) characters")
            }
            return MessagePart(id: id, mimeType: mimeType, body: body, encoding: nil, size: body.utf8.count)
        case "base64":
            guard let size = Base64.decodedCount(body) else { throw members.invalid("body", reason: "is not base64") }
            guard size <= Limits.inlinePartUnits else {
                throw members.invalid("body", reason: "is longer than \(Limits.inlinePartUnits) bytes")
            }
            return MessagePart(id: id, mimeType: mimeType, body: body, encoding: "base64", size: size)
        default: throw members.invalid("encoding", reason: "can only be base64")
        }
    }

    /// Returns the stated size. The service compares it with the uploaded size.
    /// - Returns: nil if no size is stated; -1, which no content has, if the value is not a valid size.
    private static func statedSize(_ json: JSONValue?) -> Int? {
        guard let json, !json.isNull else { return nil }
        guard let size = json.integerValue, size >= 0 else { return -1 }
        return Int(clamping: size)
    }
}

/// The parsing of parts from apps' own servers (docs/server-api.md).
extension PartBody {
    /// Prepares one part of an existing message for ``part(_:of:version:)``. An empty id or encoding is removed.
    /// - Throws: ``Failure`` naming `body` if the part has neither a body nor content.
    public static func fromServer(_ json: JSONValue) throws(Failure) -> JSONValue {
        try checkContent(of: json, at: .body)
        return json.withoutEmptyIDs
    }

    /// Prepares the parts of a message. An empty id or encoding is removed.
    public static func fromServer(_ elements: [JSONValue]) throws(Failure) -> [JSONValue] {
        for (index, element) in elements.enumerated() { try checkContent(of: element, at: .element("parts", index)) }
        return elements.map(\.withoutEmptyIDs)
    }

    /// Throws if a part has neither `body` nor `content`. This failure differs from that for a missing member, because
    /// one of the two suffices.
    private static func checkContent(of json: JSONValue, at place: Members.Place) throws(Failure) {
        guard case .object = json else { return }
        let members = try Members(json, at: place)
        if members["mime_type"] != nil, members["body"] == nil, members["content"] == nil {
            throw members.invalid("body", reason: "or the property content is required")
        }
    }
}

/// Validation of base64 text without decoding.
enum Base64 {
    /// Returns the number of decoded bytes. Returns nil unless `text` is base64 in the standard alphabet, padded,
    /// without white space.
    static func decodedCount(_ text: String) -> Int? {
        let utf8 = text.utf8
        let count = utf8.count
        guard count % 4 == 0 else { return nil }
        var padding = 0
        for byte in utf8 {
            if byte == UInt8(ascii: "=") {
                padding += 1
            } else if padding > 0 || !isDigit(byte) {
                return nil
            }
        }
        return padding <= 2 ? count / 4 * 3 - padding : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
