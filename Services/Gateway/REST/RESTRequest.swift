// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel
import StrataWire

/// What a route is asked, taken from the path, the query, the headers and the body of a request before the route's handler runs.
protocol RESTRequest: SendableMetatype {
    /// - Parameters:
    ///   - context: with the parameters of the path, and the version.
    ///   - services: for what settings limit.
    /// - Throws: what is wrong with the request.
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure)
}

/// For routes that look at more than one part of HTTP itself.
extension Request: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) { self = request }
}

/// For routes whose path says it all.
struct EmptyRequest: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) {}
}

/// Something that is asked about the object in the path. A client is told what is wrong with the rest of the request before anything about the object.
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
    /// The query as it came, which the link to the next page repeats.
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

/// A user id as it stands in a URL, or an identity's whole id escaped to one segment (docs/conformance.md §1.6).
extension UserID: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let user = context.parameters.get("user").flatMap({ UserID(pathSegment: $0) }) else { throw .notFound("identity") }
        self = user
    }

    /// Nil for a text that names no user.
    init?(pathSegment text: String) {
        let whole = text.removingPercentEncoding.flatMap { $0.hasPrefix("layer:///identities/") ? $0 : nil }
        self.init(parsing: whole ?? text)
    }
}

// MARK: Queries

extension Request {
    func parameter(_ name: String) -> String? { uri.queryParameters.get(name) }
    /// The same where it may be given several times.
    func parameters(_ name: String) -> [String] { uri.queryParameters[values: name[...]].map { String($0) } }
    /// What the query asks of the metadata of conversations; nil: nothing.
    func metadataCondition() throws(Failure) -> MetadataCondition? {
        try MetadataCondition(
            parameters: uri.queryParameters.map { (name: $0.key.removingPercentEncoding ?? String($0.key), value: String($0.value)) })
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
    /// The body of a patch as JSON.
    /// - Throws: `invalid_header` if its type is another one; what ``json(_:)`` throws.
    func patch(_ context: RESTContext) async throws(Failure) -> JSONValue {
        var type = headers[.contentType]?.split(separator: ";").first?.lowercased() ?? ""
        // There are servers that put a blank before the semicolon.
        if context.isServerRequest { while type.last == " " { type.removeLast() } }
        // Apps' own servers use two others, too: one that a document misspells, and that of any JSON.
        let isOfServer = context.isServerRequest && ["application/vnd.layer-patch.json", "application/json"].contains(type)
        guard type == "application/vnd.layer-patch+json" || isOfServer else {
            throw Failure(
                .invalidHeader, "The Content-Type of a patch must be application/vnd.layer-patch+json.", detail: .header("Content-Type"))
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
