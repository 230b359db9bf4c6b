// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

/// The body of `POST /conversations/:uuid/messages` and the data of `Message.create` (docs/conformance.md §6.5).
public struct SendMessageBody: Hashable, Sendable {
    /// The maximum size of a notification, in bytes. A longer one is discarded, because a notification must never cause
    /// the refusal of a message.
    public static let notificationBytes = 16 * 1024

    /// The id chosen by the client; nil: none.
    public var id: MessageID?
    /// The parts, at least one, each with an id.
    public var parts: [MessagePart]
    /// The notification as JSON text.
    public var notification: String?

    /// Parses the body.
    /// - Parameter version: the protocol version. The parts of 2.0 clients receive ids that these clients never see.
    /// - Throws: ``Failure`` naming the invalid property, for example `parts.0.mime_type`.
    public init(_ json: JSONValue, version: WireVersion, partsLimit: Int = Limits.partsPerMessage) throws(Failure) {
        let members = try Members(json)
        id = nil
        if let text = try members.string("id") {
            guard let id = MessageID(parsing: text) else {
                throw members.invalid("id", reason: "is not the id of a message")
            }
            self.id = id
        }
        guard let elements = try members.array("parts") else { throw members.missing("parts") }
        parts = try PartBody.parts(elements, of: id, version: version, limit: partsLimit)
        notification = SendMessageBody.notification(members["notification"])
    }

    /// Returns the notification, or nil if the value is not a valid one. It never refuses a message
    /// (docs/conformance.md §6.5).
    static func notification(_ value: JSONValue?) -> String? {
        guard case .object? = value, let value else { return nil }
        var writer = JSONWriter(capacity: 256)
        writer.value(value)
        return writer.count <= notificationBytes ? String(decoding: writer.bytes, as: UTF8.self) : nil
    }
}
