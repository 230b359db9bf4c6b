// SPDX-License-Identifier: Apache-2.0
public import NIOCore
public import StrataModel

/// A client's frame, parsed as far as all methods have in common (docs/conformance.md §12.2, §12.3, §12.6). It uses
/// little memory, regardless of the frame's content.
public enum ClientPacket: Hashable, Sendable {
    case request(Request)
    /// A typing signal. `requestID` is set if the client wants a response.
    case typing(ConversationID, TypingAction, requestID: String?)
    /// A signal without effect and without response. Either its object is not a conversation (docs/conformance.md §11,
    /// §12.6), or its kind belongs to a later version of the protocol.
    case dropped
    /// A frame with a `request_id` that can only be answered by a failure.
    case refused(requestID: String, method: String, Failure)

    /// A request for a method, which may be unknown.
    public struct Request: Hashable, Sendable {
        /// The `request_id`, chosen by the client: any string of at most ``ClientPacket/requestIDBytes`` bytes.
        public var id: String
        /// The method as spelled by the client. It may be unknown.
        public var method: String
        /// The `object_id` as sent by the client, unchecked.
        public var objectID: String?
        /// The members of `data` that are needed before the request is carried out: `id`, `ordered`, `action` and
        /// `from_timestamp`. Null if the client sent no data.
        public var outline: JSONValue
        /// An upper estimate of the bytes that ``ClientPacket/data(in:)`` allocates.
        public var parsedBytes: Int

        /// Creates a request.
        public init(
            id: String, method: String, objectID: String? = nil, outline: JSONValue = .null, parsedBytes: Int = 0
        ) {
            self.id = id
            self.method = method
            self.objectID = objectID
            self.outline = outline
            self.parsedBytes = parsedBytes
        }

        /// Returns the id of the request's conversation.
        /// - Throws: ``Failure`` naming `object_id`.
        public func conversationID() throws(Failure) -> ConversationID {
            guard let objectID else { throw .missing("object_id") }
            guard let id = ConversationID(parsing: objectID) else {
                throw .invalid("object_id", reason: "is not the id of a conversation")
            }
            return id
        }
    }

    /// The maximum length of a `request_id`, in bytes.
    public static let requestIDBytes = 256
    /// The maximum length of a method's name, in bytes.
    public static let methodBytes = 128

    /// Parses a frame.
    /// - Throws: ``Failure`` for a frame that cannot be answered: invalid JSON, an unknown type, a request without
    ///   `request_id`, or a malformed signal that wants no response.
    public init(parsing frame: ByteBuffer) throws(Failure) {
        let parsed: (value: JSONValue, parsedBytes: Int)
        do throws(JSONError) {
            parsed = try JSONReader.outline(frame, keeping: Self.outline)
        } catch {
            throw error.failure
        }
        let members = try Members(parsed.value)
        guard let body = members["body"], case .object = body else {
            throw members.invalid("body", reason: "must be an object")
        }
        switch try members.requiredString("type") {
        case "request": self = try ClientPacket.request(try Members(body), parsedBytes: parsed.parsedBytes)
        case "signal": self = try ClientPacket.signal(try Members(body))
        default: throw members.invalid("type", reason: "must be request or signal")
        }
    }

    /// Parses the data of a request. Returns null if the client sent none.
    /// - Parameter frame: the frame of the request, already validated.
    public static func data(in frame: ByteBuffer) throws(Failure) -> JSONValue {
        try JSONReader.body(frame)["body"]?["data"] ?? .null
    }

    private static let outline = JSONOutline([
        ("type", nil),
        (
            "body",
            JSONOutline([
                ("type", nil), ("request_id", nil), ("method", nil), ("object_id", nil),
                ("object", JSONOutline([("id", nil)])),
                ("data", JSONOutline([("id", nil), ("ordered", nil), ("action", nil), ("from_timestamp", nil)])),
            ])
        ),
    ])

    private static func request(_ body: Members, parsedBytes: Int) throws(Failure) -> ClientPacket {
        guard let id = try requestID(body) else { throw body.missing("request_id") }
        var method = ""
        do throws(Failure) {
            method = try body.requiredString("method")
            guard method.utf8.count <= methodBytes else {
                method = ""
                throw body.invalid("method", reason: "is too long")
            }
            return .request(
                Request(
                    id: id, method: method, objectID: try body.string("object_id"), outline: body["data"] ?? .null,
                    parsedBytes: parsedBytes))
        } catch {
            return .refused(requestID: id, method: method, error)
        }
    }

    private static func signal(_ body: Members) throws(Failure) -> ClientPacket {
        let id = try requestID(body)
        do throws(Failure) {
            guard try body.requiredString("type") == "typing_indicator" else {
                if id == nil { return .dropped }
                throw body.invalid("type", reason: "is not a known signal")
            }
            guard case .string(let object)? = body["object"]?["id"], let conversation = ConversationID(parsing: object)
            else {
                if id == nil, case .string(let object)? = body["object"]?["id"], object.hasPrefix("layer:///") {
                    return .dropped
                }
                throw .invalid("object.id", reason: "is not the id of a conversation")
            }
            guard case .string(let word)? = body["data"]?["action"], let action = TypingAction(rawValue: word) else {
                if id == nil, case .string? = body["data"]?["action"] { return .dropped }
                throw .invalid("data.action", reason: "must be started, paused or finished")
            }
            return .typing(conversation, action, requestID: id)
        } catch {
            guard let id else { throw error }
            return .refused(requestID: id, method: "", error)
        }
    }

    private static func requestID(_ body: Members) throws(Failure) -> String? {
        guard let id = try body.string("request_id") else { return nil }
        guard id.utf8.count <= requestIDBytes else { throw body.invalid("request_id", reason: "is too long") }
        return id
    }
}
