// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import Model
import NIOCore

/// The body of `POST /conversations/:uuid/messages` and the data of `Message.create` (spec 6.5).
public struct SendMessageBody: Hashable, Sendable {
    /// Bytes of a notification that is kept; a longer one is dropped, as nothing about it may refuse a message.
    public static let notificationBytes = 16 * 1024

    /// The client's own id, if it gave one.
    public var id: MessageID?
    /// At least one, each with an id.
    public var parts: [MessagePart]
    /// JSON text.
    public var notification: String?

    /// - Parameter version: 2.0 clients number their parts, and get ids that they never see.
    /// - Throws: ``Failure`` naming the property at fault, for example `parts.0.mime_type`.
    public init(_ json: JSONValue, version: WireVersion) throws(Failure) {
        let members = try Members(json)
        id = nil
        if let text = try members.string("id") {
            guard let id = MessageID(parsing: text) else { throw members.invalid("id", "is not the id of a message") }
            self.id = id
        }
        guard let elements = try members.array("parts") else { throw members.missing("parts") }
        guard !elements.isEmpty else { throw members.invalid("parts", "must have at least one element") }
        guard elements.count <= Limits.partsPerMessage else {
            throw members.invalid("parts", "has more than \(Limits.partsPerMessage) elements")
        }
        parts = try SendMessageBody.parts(elements, of: id, version: version)
        notification = SendMessageBody.notification(members["notification"])
    }

    private static func parts(_ elements: [JSONValue], of id: MessageID?, version: WireVersion) throws(Failure) -> [MessagePart] {
        var parts: [MessagePart] = []
        parts.reserveCapacity(elements.count)
        var used: Set<UUID> = []
        var total = 0
        for (index, element) in elements.enumerated() {
            let members = try Members(element, at: .element("parts", index))
            var partID: UUID?
            if version == .v3 { partID = try self.partID(members, of: id) }
            if let partID, !used.insert(partID).inserted { throw members.invalid("id", "is the id of another part too") }
            let part = try self.part(members, id: partID ?? UUID())
            total += part.size
            guard total <= Limits.inlineMessageBytes else {
                throw .invalid("parts", "have more than \(Limits.inlineMessageBytes) bytes in their bodies together")
            }
            parts.append(part)
        }
        return parts
    }

    /// The id a 3.0 client chose: `<message id>/parts/<uuid>`, or the UUID alone.
    private static func partID(_ members: Members, of message: MessageID?) throws(Failure) -> UUID? {
        guard let text = try members.string("id") else { return nil }
        if let uuid = UUID(text: text.utf8) { return uuid }
        let utf8 = text.utf8
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")), let uuid = UUID(text: utf8[utf8.index(after: slash)...]) else {
            throw members.invalid("id", "is not the id of a message part")
        }
        guard let message, utf8[..<slash].suffix(6).elementsEqual("/parts".utf8), MessageID(parsing: text[..<slash].dropLast(6)) == message else {
            throw members.invalid("id", "does not lie under the id of the message")
        }
        return uuid
    }

    private static func part(_ members: Members, id: UUID) throws(Failure) -> MessagePart {
        let mimeType = try members.requiredString("mime_type")
        guard !mimeType.isEmpty else { throw members.invalid("mime_type", "is empty") }
        guard members["content"] == nil else { throw members.invalid("content", "is not supported: bodies must be sent inline") }
        let body = try members.requiredString("body")
        switch try members.string("encoding") {
        case nil:
            // No text has more UTF-16 units than bytes of UTF-8, so that most need not be counted.
            guard body.utf8.count <= Limits.inlinePartUnits || body.utf16.count <= Limits.inlinePartUnits else {
                throw members.invalid("body", "is longer than \(Limits.inlinePartUnits) characters")
            }
            return MessagePart(id: id, mimeType: mimeType, body: body, encoding: nil, size: body.utf8.count)
        case "base64":
            guard let size = Base64.decodedCount(body) else { throw members.invalid("body", "is not base64") }
            guard size <= Limits.inlinePartUnits else { throw members.invalid("body", "is longer than \(Limits.inlinePartUnits) bytes") }
            return MessagePart(id: id, mimeType: mimeType, body: body, encoding: "base64", size: size)
        default: throw members.invalid("encoding", "can only be base64")
        }
    }

    /// Never refuses anything (spec 6.5): what cannot be a notification is none.
    private static func notification(_ value: JSONValue?) -> String? {
        guard case .object? = value, let value else { return nil }
        var writer = JSONWriter(capacity: 256)
        writer.value(value)
        return writer.count <= notificationBytes ? String(decoding: writer.bytes, as: UTF8.self) : nil
    }
}
