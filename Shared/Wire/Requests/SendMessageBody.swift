// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

/// The body of `POST /conversations/:uuid/messages` and the data of `Message.create` (docs/conformance.md §6.5).
public struct SendMessageBody: Hashable, Sendable {
    /// Bytes of a notification that is kept; a longer one is dropped, as nothing about it may refuse a message.
    public static let notificationBytes = 16 * 1024

    /// The client's own id, if it gave one.
    public var id: MessageID?
    /// At least one, each with an id.
    public var parts: [MessagePart]
    /// JSON text.
    public var notification: String?

    /// - Parameters:
    ///   - version: 2.0 clients number their parts, and get ids that they never see.
    ///   - partsLimit: as many parts there may be.
    /// - Throws: ``Failure`` naming the property at fault, for example `parts.0.mime_type`.
    public init(_ json: JSONValue, version: WireVersion, partsLimit: Int = Limits.partsPerMessage) throws(Failure) {
        let members = try Members(json)
        id = nil
        if let text = try members.string("id") {
            guard let id = MessageID(parsing: text) else { throw members.invalid("id", reason: "is not the id of a message") }
            self.id = id
        }
        guard let elements = try members.array("parts") else { throw members.missing("parts") }
        parts = try PartBody.parts(elements, of: id, version: version, limit: partsLimit)
        notification = SendMessageBody.notification(members["notification"])
    }

    /// Never refuses anything (docs/conformance.md §6.5): what cannot be a notification is none.
    static func notification(_ value: JSONValue?) -> String? {
        guard case .object? = value, let value else { return nil }
        var writer = JSONWriter(capacity: 256)
        writer.value(value)
        return writer.count <= notificationBytes ? String(decoding: writer.bytes, as: UTF8.self) : nil
    }
}
