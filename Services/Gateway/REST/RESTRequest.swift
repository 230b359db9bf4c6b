// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel
import StrataWire

/// The input of a route, read from a request's path, query, headers and body before the handler runs.
protocol RESTRequest: SendableMetatype {
    /// - Parameters:
    ///   - context: the context, with the path's parameters and the version.
    ///   - services: the services, with the settings that limit requests.
    /// - Throws: the reason why the request is invalid.
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure)
}

/// The input of routes that read several parts of the HTTP request directly.
extension Request: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) { self = request }
}

/// The input of routes that use only the path.
struct EmptyRequest: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) {}
}

/// A request about the object in the path. Errors in the rest of the request take precedence over errors about the
/// object.
struct ObjectRequest<ID: RESTRequest, Content: RESTRequest>: RESTRequest {
    let id: ID
    let content: Content

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        content = try await Content(request, in: context, for: services)
        id = try await ID(request, in: context, for: services)
    }
}

struct ListRequest<Query: RESTRequest>: RESTRequest {
    let query: Query
    /// The query as received. The link to the next page repeats it.
    let text: String?

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        query = try await Query(request, in: context, for: services)
        text = request.uri.query
    }
}

// MARK: Objects

extension ConversationID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try context.id("id", what: "conversation")
    }
}

extension MessageID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try context.messageID("id")
    }
}

extension AnnouncementID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try context.id("id", what: "announcement")
    }
}

extension ContentID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try context.id("id", what: "content")
    }
}

/// A user id in a URL, or a full identity id escaped to one segment (docs/conformance.md §1.6).
extension UserID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let user = context.parameters.get("user").flatMap({ UserID(pathSegment: $0) }) else {
            throw .notFound("identity")
        }
        self = user
    }

    /// Creates a user id from a path segment. Nil if the text names no user.
    init?(pathSegment text: String) {
        let whole = text.removingPercentEncoding.flatMap { $0.hasPrefix("layer:///identities/") ? $0 : nil }
        self.init(parsing: whole ?? text)
    }
}

// MARK: Queries

extension Request {
    func parameter(_ name: String) -> String? { uri.queryParameters.get(name) }
    /// Returns all values of a parameter that may be repeated.
    func parameters(_ name: String) -> [String] { uri.queryParameters[values: name[...]].map { String($0) } }
    /// Returns the condition on conversations' metadata in the query; nil if there is none.
    func metadataCondition() throws(Failure) -> MetadataCondition? {
        try MetadataCondition(
            parameters: uri.queryParameters.map {
                (name: $0.key.removingPercentEncoding ?? String($0.key), value: String($0.value))
            })
    }
}

extension PageQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try PageQuery(parameter: request.parameter)
    }
}

extension ConversationsQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try ConversationsQuery(condition: try request.metadataCondition(), parameter: request.parameter)
    }
}

extension FoundConversationsQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try FoundConversationsQuery(condition: try request.metadataCondition(), parameter: request.parameter)
    }
}

extension UsersQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try UsersQuery(from: context.sender, parameter: request.parameter)
    }
}

extension DeletionQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try DeletionQuery(parameter: request.parameter)
    }
}

extension ConversationDeletionQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try ConversationDeletionQuery(parameter: request.parameter)
    }
}

extension RESTContext {
    var sender: RequestSender {
        guard isServerRequest else { return .client }
        return user == nil ? .server : .onBehalf
    }
}

// MARK: Bodies

extension Request {
    /// Returns the body of a patch as JSON.
    /// - Throws: `invalid_header` for another content type, and the errors of ``json(_:)``.
    func patch(_ context: RESTContext) async throws(Failure) -> JSONValue {
        var type = headers[.contentType]?.split(separator: ";").first?.lowercased() ?? ""
        // Some servers send a space before the semicolon.
        if context.isServerRequest { while type.last == " " { type.removeLast() } }
        // Apps' own servers also use a type that a document misspells, and the general JSON type.
        let isOfServer =
            context.isServerRequest && ["application/vnd.layer-patch.json", "application/json"].contains(type)
        guard type == "application/vnd.layer-patch+json" || isOfServer else {
            throw Failure(
                .invalidHeader, "The Content-Type of a patch must be application/vnd.layer-patch+json.",
                detail: .header("Content-Type"))
        }
        return try await json(context)
    }
}

extension SessionBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try SessionBody(try await request.json(context))
    }
}

extension CreateConversationBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try CreateConversationBody(try await request.object(context), from: context.sender)
    }
}

extension ConversationPatch: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try ConversationPatch(try await request.patch(context), from: context.sender)
    }
}

extension MarkAllReadBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try MarkAllReadBody(try await request.optionalObject(context))
    }
}

extension ReceiptsBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try ReceiptsBody(try await request.object(context))
    }
}

extension ReceiptBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try ReceiptBody(try await request.object(context))
    }
}

extension SendMessageBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try SendMessageBody(
            try await request.object(context), version: context.version, partsLimit: services.settings.objects.parts)
    }
}

extension IndexBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try IndexBody(try await request.object(context))
    }
}

extension FollowBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try FollowBody(try await request.json(context), from: context.sender)
    }
}

extension PushTokenBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try PushTokenBody(try await request.object(context))
    }
}
