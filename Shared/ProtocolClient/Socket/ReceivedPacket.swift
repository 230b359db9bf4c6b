// SPDX-License-Identifier: Apache-2.0

/// A packet from the server, as received.
public struct ReceivedPacket: Sendable, Hashable, CustomStringConvertible {
    /// The number of the packet on its socket, from 0.
    public let index: Int
    /// The time of receipt.
    public let receivedAt: ContinuousClock.Instant
    /// The whole packet.
    public let json: JSONValue

    /// The type: `response`, `change`, `signal` or `operation`.
    public var type: String { json["type"].string ?? "" }
    /// The body of the packet.
    public var body: JSONValue { json["body"] }
    /// The member `data` of the body.
    public var data: JSONValue { body["data"] }
    /// The server's counter.
    public var counter: Int? { json["counter"].int }
    /// The server's timestamp as text.
    public var timestamp: String? { json["timestamp"].string }
    /// The operation of a change: `create`, `update` or `delete`.
    public var operation: String? { body["operation"].string }
    /// The type of the object of a change or signal: `Conversation`, `Message`, ….
    public var objectType: String? { body["object"]["type"].string }
    /// The id of the object of a change or signal.
    public var objectID: String? { body["object"]["id"].string }
    /// The id of the request that a response answers.
    public var requestID: String? { body["request_id"].string }

    /// Returns true if the packet is this change. A nil id matches any.
    public func isChange(_ operation: String, of objectType: String, id: String? = nil) -> Bool {
        type == "change" && self.operation == operation && self.objectType == objectType
            && (id == nil || objectID == id)
    }

    /// Returns true if the packet is a typing signal. Nil matches any action or conversation.
    public func isTyping(_ action: String? = nil, conversation: String? = nil) -> Bool {
        type == "signal" && body["type"].string == "typing_indicator"
            && (action == nil || data["action"].string == action)
            && (conversation == nil || objectID == conversation)
    }

    /// The packet as JSON text.
    public var description: String { json.text }
}

/// The response to a request over a socket.
public struct SocketResponse: Sendable, Hashable {
    /// The packet of the response.
    public let packet: ReceivedPacket
    /// Creates a response from a packet of type `response`.
    public init(packet: ReceivedPacket) { self.packet = packet }

    /// True if the request succeeded.
    public var isSuccess: Bool { packet.body["success"].bool == true }
    /// The requested data, or the error object.
    public var data: JSONValue { packet.data }
    /// The `id` of the error object; nil if the request succeeded.
    public var errorID: String? { isSuccess ? nil : data["id"].string }
}

/// The end of a socket.
public struct SocketClosure: Sendable, Hashable {
    /// The code of the server's close frame; nil if the connection was lost without one.
    public let code: UInt16?
    /// The reason in the close frame.
    public let reason: String?

    /// Creates the end of a socket.
    public init(code: UInt16?, reason: String?) {
        self.code = code
        self.reason = reason
    }
}
