// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes by which an app's own server reads and changes the parts of any message.
struct ServerPartRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let parts = routes.server("/conversations/:id/messages/:message/parts")
        parts.on(.get, use: list)
        parts.on(.get, ":part", use: load)
        parts.on(.post, use: add)
        parts.on(.put, ":part", use: replace)
        parts.on(.put, use: replaceAll)
        parts.on(.delete, ":part", use: remove)
    }

    private func list(_ asked: MessageInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        parts(of: try await services.message(asked.message, in: asked.conversation, for: context.call), in: context)
    }

    private func load(_ asked: PartInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(
            asked.message.message, in: asked.message.conversation, for: context.call)
        guard let index = asked.part.place(in: message.parts) else { throw .notFound("message part") }
        return .json { renderer(of: context).writePart(at: index, of: message, into: &$0) }
    }

    private func add(_ asked: NewPartInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try part(try await edit(.add(asked.content), of: asked.message, in: context), in: context, status: .created)
    }

    private func replace(
        _ asked: PartReplacementInConversation, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        try part(try await edit(.replace(asked.part, by: asked.content), of: asked.message, in: context), in: context)
    }

    private func replaceAll(
        _ asked: NewPartsInConversation, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let edited = try await edit(.replaceAll(asked.parts), of: asked.message, in: context)
        guard let message = edited.message else { throw .notFound("message") }
        return parts(of: message, in: context).at(edited.place)
    }

    private func remove(_ asked: PartInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await edit(.remove(asked.part), of: asked.message, in: context).place)
    }

    private func edit(
        _ edit: GatewayServices.PartsEdit, of message: MessageInConversation, in context: ServerContext
    ) async throws(Failure) -> GatewayServices.EditedParts {
        try await services.edit(edit, of: message.message, in: message.conversation, for: context.call)
    }

    private func part(
        _ edited: GatewayServices.EditedParts, in context: ServerContext, status: HTTPResponse.Status = .ok
    ) throws(Failure) -> RESTAnswer {
        guard let message = edited.message else { throw .notFound("message") }
        return .json(status) { renderer(of: context).writePart(at: edited.index, of: message, into: &$0) }
            .at(edited.place)
    }

    private func parts(of message: Message, in context: ServerContext) -> RESTAnswer {
        let renderer = renderer(of: context)
        return .list(Array(message.parts.indices), total: message.parts.count) {
            renderer.writePart(at: $0, of: message, into: &$1)
        }
    }
}

private struct PartInConversation: RESTRequest {
    let message: MessageInConversation
    let part: PartReference

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        message = try MessageInConversation(request, in: context, for: services)
        part = try context.partReference()
    }
}

private struct NewPartInConversation: RESTRequest {
    let message: MessageInConversation
    let content: MessagePart

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        message = try MessageInConversation(request, in: context, for: services)
        content = try PartBody.part(
            try PartBody.fromServer(try await request.object(context)), of: message.message, version: context.version)
        try content.checkInlineBytes("body")
    }
}

private struct PartReplacementInConversation: RESTRequest {
    let message: MessageInConversation
    let part: PartReference
    let content: MessagePart

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        let new = try await NewPartInConversation(request, in: context, for: services)
        (message, content) = (new.message, new.content)
        part = try context.partReference()
    }
}

private struct NewPartsInConversation: RESTRequest {
    let message: MessageInConversation
    let parts: [MessagePart]

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        message = try MessageInConversation(request, in: context, for: services)
        guard case .array(let elements) = try await request.json(context) else {
            throw Failure(.invalidRequest, "The body must be an array of message parts.")
        }
        parts = try PartBody.parts(
            try PartBody.fromServer(elements), of: message.message, version: context.version,
            limit: services.settings.objects.parts)
        for (index, part) in parts.enumerated() { try part.checkInlineBytes("parts.\(index).body") }
    }
}
