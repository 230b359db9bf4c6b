// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes for the parts of sent messages. All users who see a message can read its parts; only its sender can change
/// them (docs/conformance.md §6.7).
struct PartRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let parts = routes.signedIn("/messages/:id/parts")
        parts.on(.get, use: list)
        parts.on(.get, ":part", use: load)
        parts.on(.post, use: add)
        parts.on(.put, ":part", use: replace)
        parts.on(.put, use: replaceAll)
        parts.on(.delete, ":part", use: remove)
    }

    private func list(_ id: MessageID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        parts(of: try await services.message(id, for: context.call), in: context)
    }

    private func load(_ asked: PartRequest, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(asked.message, for: context.call)
        guard let index = asked.part.place(in: message.parts) else { throw .notFound("message part") }
        return part(index, of: message, in: context)
    }

    private func add(_ asked: NewPart, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        try part(
            try await services.edit(.add(asked.content), of: asked.message, for: context.call), in: context,
            status: .created)
    }

    private func replace(_ asked: PartReplacement, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        try part(
            try await services.edit(.replace(asked.part, by: asked.content), of: asked.message, for: context.call),
            in: context)
    }

    private func replaceAll(_ asked: NewParts, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let edited = try await services.edit(.replaceAll(asked.parts), of: asked.message, for: context.call)
        guard let message = edited.message else { throw .notFound("message") }
        return parts(of: message, in: context).at(edited.place)
    }

    private func remove(_ asked: PartRequest, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let edited = try await services.edit(.remove(asked.part), of: asked.message, for: context.call)
        return .noContent.at(edited.place)
    }

    private func part(
        _ edited: GatewayServices.EditedParts, in context: SignedInContext, status: HTTPResponse.Status = .ok
    ) throws(Failure) -> RESTAnswer {
        guard let message = edited.message else { throw .notFound("message") }
        return part(edited.index, of: message, in: context, status: status).at(edited.place)
    }

    private func part(
        _ index: Int, of message: Message, in context: SignedInContext, status: HTTPResponse.Status = .ok
    ) -> RESTAnswer {
        .json(status) { writer in
            guard message.parts.indices.contains(index) else { return writer.null() }
            renderer(for: context)
                .writePart(message.parts[index], at: index, of: message.id, version: context.version, into: &writer)
        }
    }

    private func parts(of message: Message, in context: SignedInContext) -> RESTAnswer {
        let renderer = self.renderer(for: context)
        return .list(Array(message.parts.enumerated()), total: message.parts.count) { item, writer in
            renderer.writePart(item.element, at: item.offset, of: message.id, version: context.version, into: &writer)
        }
    }
}

private struct PartRequest: RESTRequest {
    let message: MessageID
    let part: PartReference

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        message = try MessageID(request, in: context, for: services)
        part = try context.partReference()
    }
}

private struct NewPart: RESTRequest {
    let message: MessageID
    let content: MessagePart

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        message = try MessageID(request, in: context, for: services)
        content = try PartBody.part(try await request.object(context), of: message, version: context.version)
    }
}

private struct PartReplacement: RESTRequest {
    let message: MessageID
    let part: PartReference
    let content: MessagePart

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        message = try MessageID(request, in: context, for: services)
        part = try context.partReference()
        content = try PartBody.part(try await request.object(context), of: message, version: context.version)
    }
}

private struct NewParts: RESTRequest {
    let message: MessageID
    let parts: [MessagePart]

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        message = try MessageID(request, in: context, for: services)
        guard case .array(let elements) = try await request.json(context) else {
            throw Failure(.invalidRequest, "The body must be an array of message parts.")
        }
        parts = try PartBody.parts(
            elements, of: message, version: context.version, limit: services.settings.objects.parts)
    }
}

extension RESTContext {
    func partReference() throws(Failure) -> PartReference {
        guard let text = parameters.get("part"), let reference = PartReference(text) else {
            throw .notFound("message part")
        }
        return reference
    }
}
