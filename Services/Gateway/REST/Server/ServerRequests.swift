// SPDX-License-Identifier: Apache-2.0
import Crypto
import FanOut
import FoundationEssentials
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// The id in `If-None-Match` that an app's own server chose for the object to create. A repeated creation under the
/// same id is carried out once.
///
/// Only requests that create something read the header, because some libraries send one with every request.
struct CreationID: RESTRequest {
    let id: UUID?

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let text = request.headers[.ifNoneMatch] else {
            id = nil
            return
        }
        // An entity tag is quoted.
        let isQuoted = text.utf8.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"")
        guard let id = UUID(uuidString: String(isQuoted ? text.dropFirst().dropLast() : text[...])) else {
            throw Failure(.invalidRequestID, "The If-None-Match header must be a UUID.")
        }
        self.id = id
    }

    /// Returns an id for one of several objects that a request creates. A repetition creates the same ids.
    func element(_ index: Int) -> UUID? {
        guard let id else { return nil }
        return SHA256.hash(data: Array("\(id.lowercaseText) \(index)".utf8)).madeUUID
    }
}

extension SHA256Digest {
    /// A UUID of version 8 and variant 1 (RFC 9562), made from the hash.
    var madeUUID: UUID {
        withUnsafeBytes { bytes in
            var uuid = bytes.loadUnaligned(as: uuid_t.self)
            uuid.6 = uuid.6 & 0x0f | 0x80
            uuid.8 = uuid.8 & 0x3f | 0x80
            return UUID(uuid: uuid)
        }
    }
}

struct NewServerConversation: RESTRequest {
    var body: CreateConversationBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        let given = try CreationID(request, in: context, for: services).id
        body = try await CreateConversationBody(request, in: context, for: services)
        if let given { body.id = ConversationID(rawValue: given) }
    }
}

/// The messages of a request to send.
struct NewServerMessages: RESTRequest {
    let messages: [(id: MessageID, body: ServerMessageBody)]
    /// True if the body is an array.
    let isBatch: Bool

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        let given = try CreationID(request, in: context, for: services)
        let (bodies, isBatch) = try ServerMessageBody.messages(
            try await request.json(context), version: context.serverVersion ?? .v3,
            partsLimit: services.settings.objects.parts)
        self.isBatch = isBatch
        let server = context.server.map { UserKey(app: $0.app, user: .appServer) }
        messages = bodies.enumerated()
            .map { index, body in
                let own = isBatch ? given.element(index) : given.id
                if let id = own.map({ MessageID(rawValue: $0) }) ?? body.content.id { return (id, body) }
                // With an idempotency key, a repetition sends messages with the same ids. That includes delayed
                // messages.
                let named = server.flatMap { server in
                    context.idempotencyKey.map { $0.derivedID(by: server, "message \(index)") }
                }
                return (named.map { MessageID(rawValue: $0) } ?? .random(), body)
            }
    }
}

struct MessageInConversation: RESTRequest {
    let conversation: ConversationID
    let message: MessageID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        conversation = try ConversationID(request, in: context, for: services)
        message = try context.messageID("message")
    }
}
