// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import Model
import Wire

/// The parts of a message that was sent: everybody who sees it can read them, its sender can change them (spec 6.7).
extension RESTRouter {
    func registerParts(on router: RESTRoutes) {
        on(router, .get, "/messages/:id/parts", .signedIn) { _, context throws(Failure) in
            parts(of: try await services.message(try context.messageID(), try context.call()), context)
        }
        on(router, .get, "/messages/:id/parts/:part", .signedIn) { _, context throws(Failure) in
            let reference = try context.partReference()
            let message = try await services.message(try context.messageID(), try context.call())
            guard let index = reference.place(in: message.parts) else { throw .notFound("message part") }
            return part(index, of: message, context)
        }
        on(router, .post, "/messages/:id/parts", .signedIn) { request, context throws(Failure) in
            let id = try context.messageID()
            let body = try PartBody.part(try await json(request), of: id, version: context.version)
            let (message, index) = try await services.edit(.add(body), of: id, try context.call())
            return part(index, of: message, context, status: .created)
        }
        on(router, .put, "/messages/:id/parts/:part", .signedIn) { request, context throws(Failure) in
            let (id, reference) = (try context.messageID(), try context.partReference())
            let body = try PartBody.part(try await json(request), of: id, version: context.version)
            let (message, index) = try await services.edit(.replace(reference, by: body), of: id, try context.call())
            return part(index, of: message, context)
        }
        on(router, .put, "/messages/:id/parts", .signedIn) { request, context throws(Failure) in
            let id = try context.messageID()
            guard case .array(let elements) = try await json(request) else {
                throw Failure(.invalidRequest, "The body must be an array of message parts.")
            }
            let body = try PartBody.parts(elements, of: id, version: context.version, limit: services.settings.partsLimit)
            return parts(of: try await services.edit(.replaceAll(body), of: id, try context.call()).message, context)
        }
        on(router, .delete, "/messages/:id/parts/:part", .signedIn) { _, context throws(Failure) in
            _ = try await services.edit(.remove(try context.partReference()), of: try context.messageID(), try context.call())
            return .noContent
        }
    }

    private func part(_ index: Int, of message: Message, _ context: RESTContext, status: HTTPResponse.Status = .ok) -> RESTAnswer {
        .json(status) { writer in
            guard message.parts.indices.contains(index) else { return writer.null() }
            services.renderer.write(message.parts[index], at: index, of: message.id, version: context.version, into: &writer)
        }
    }

    private func parts(of message: Message, _ context: RESTContext) -> RESTAnswer {
        .list(Array(message.parts.enumerated()), total: message.parts.count) { item, writer in
            services.renderer.write(item.element, at: item.offset, of: message.id, version: context.version, into: &writer)
        }
    }
}

extension RESTContext {
    fileprivate func partReference() throws(Failure) -> PartReference {
        guard let text = coreContext.parameters.get("part"), let reference = PartReference(text) else { throw .notFound("message part") }
        return reference
    }
}
