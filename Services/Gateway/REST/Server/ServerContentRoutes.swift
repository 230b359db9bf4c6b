// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Routes for the rich content that an app's own server uploads for messages of one conversation, and for the content
/// of messages in it.
struct ServerContentRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let content = routes.server("/conversations/:id/content")
        content.on(.post, use: create)
        content.on(.get, ":content", use: load)
    }

    private func create(
        _ asked: ObjectRequest<ConversationID, NewServerContent>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let (new, call) = (asked.content.content, context.call)
        let id =
            call.idempotencyKey.map { ContentID(rawValue: $0.derivedID(by: call.key, "\(new.size) \(new.type)")) }
            ?? .random()
        let upload = ContentTokens.Upload(id: id, size: new.size, type: new.type, app: call.key.app)
        try await services.createContent(upload, in: asked.id, for: call)
        let uploadURL = new.content.uploadURL(for: upload)
        return .json(.created, headers: [.location: uploadURL]) {
            renderer(of: context)
                .writeContent(
                    id, size: upload.size, in: asked.id, at: ContentLocation(downloadURL: nil, expiration: nil),
                    uploadURL: uploadURL, into: &$0)
        }
    }

    private func load(_ asked: ContentInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let (size, isUploaded) = try await services.content(asked.content, in: asked.conversation, for: context.call)
        guard isUploaded else { throw .notFound("content") }
        return .json {
            renderer(of: context)
                .writeContent(
                    asked.content, size: size, in: asked.conversation,
                    at: services.renderer.locateContent(asked.content), into: &$0)
        }
    }
}

/// A request to create content. It equals a client's request, except for the error about a missing or invalid header.
private struct NewServerContent: RESTRequest {
    let content: NewContent

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        do throws(Failure) {
            content = try NewContent(request, in: context, for: services)
        } catch {
            guard case .property(let name) = error.detail else { throw error }
            throw Failure(.invalidHeader, error.message.replacing("property", with: "header"), detail: .header(name))
        }
    }
}

/// The conversation and the content that a path names.
private struct ContentInConversation: RESTRequest {
    let conversation: ConversationID
    let content: ContentID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        conversation = try ConversationID(request, in: context, for: services)
        content = try context.id("content", what: "content")
    }
}
