// SPDX-License-Identifier: Apache-2.0

/// One packet of the server, as it came.
public struct ReceivedPacket: Sendable, Hashable, CustomStringConvertible {
    /// 0 for the first packet of the socket, then one more for each.
    public let index: Int
    /// When it came.
    public let receivedAt: ContinuousClock.Instant
    /// All of it.
    public let json: JSONValue

    /// `response`, `change`, `signal`, `operation`.
    public var type: String { json["type"].string ?? "" }
    /// What the packet is about.
    public var body: JSONValue { json["body"] }
    /// `data` of the body.
    public var data: JSONValue { body["data"] }
    /// Counted by the server.
    public var counter: Int? { json["counter"].int }
    /// As the server wrote it.
    public var timestamp: String? { json["timestamp"].string }
    /// Of a change: `create`, `update` or `delete`.
    public var operation: String? { body["operation"].string }
    /// Of a change or signal: `Conversation`, `Message`, ….
    public var objectType: String? { body["object"]["type"].string }
    /// Of a change or signal: the id of the object.
    public var objectID: String? { body["object"]["id"].string }
    /// Of a response: the request it answers.
    public var requestID: String? { body["request_id"].string }

    /// Whether it is this change; nil means any.
    public func isChange(_ operation: String, of objectType: String, id: String? = nil) -> Bool {
        type == "change" && self.operation == operation && self.objectType == objectType && (id == nil || objectID == id)
    }

    /// Whether it is a typing signal; nil means any.
    public func isTyping(_ action: String? = nil, conversation: String? = nil) -> Bool {
        type == "signal" && body["type"].string == "typing_indicator" && (action == nil || data["action"].string == action)
            && (conversation == nil || objectID == conversation)
    }

    /// The JSON.
    public var description: String { json.text }
}

/// The answer to a request over a socket.
public struct SocketAnswer: Sendable, Hashable {
    /// The packet it came in.
    public let packet: ReceivedPacket
    /// The answer in a packet of type `response`.
    public init(packet: ReceivedPacket) { self.packet = packet }

    /// Whether the server did what it was asked.
    public var isSuccess: Bool { packet.body["success"].bool == true }
    /// What it was asked for, or the error object.
    public var data: JSONValue { packet.data }
    /// The `id` of the error object.
    public var errorID: String? { isSuccess ? nil : data["id"].string }
}

/// How a socket came to its end.
public struct SocketClosure: Sendable, Hashable {
    /// Of the close frame the server sent; nil if the connection was lost without one.
    public let code: UInt16?
    /// The words in it.
    public let reason: String?

    /// Says how a socket ended.
    public init(code: UInt16?, reason: String?) {
        self.code = code
        self.reason = reason
    }
}
