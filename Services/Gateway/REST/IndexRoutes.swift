// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Routes for an app's metadata indexes and for finding conversations with them (docs/server-api.md).
struct IndexRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let indexes = routes.server("/indexes")
        indexes.on(.get, use: list)
        indexes.on(.post, use: create)
        indexes.on(.get, ":property", use: load)
        indexes.on(.delete, ":property", use: delete)
        routes.server("/conversations").on(.get, use: find)
    }

    private func find(
        _ asked: ListRequest<FoundConversationsQuery>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let (query, renderer) = (asked.query, renderer(of: context))
        let page = try await services.conversations(
            matching: query.condition, pageSize: query.page.pageSize, from: query.page.fromID, for: context.call)
        return try await .list(
            page.objects, headers: headers(of: page, in: context, list: "/conversations", query: asked.text),
            to: context
        ) {
            renderer.writeConversation($0, into: &$1)
        }
    }

    private func list(_ context: ServerContext) async throws(Failure) -> RESTAnswer {
        let indexes = try await services.indexes(of: context.app, trace: context.request.trace)
        let renderer = self.renderer(for: context)
        return .list(indexes, total: indexes.count) { renderer.writeIndex($0, into: &$1) }
    }

    private func create(_ body: IndexBody, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let (index, isNew) = try await services.addIndex(body.path, to: context.app, trace: context.request.trace)
        return .json(isNew ? .created : .ok) { renderer(for: context).writeIndex(index, into: &$0) }
    }

    private func load(_ asked: IndexedPath, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let indexes = try await services.indexes(of: context.app, trace: context.request.trace)
        guard let index = indexes.first(where: { $0.path == asked.path }) else { throw .notFound("index") }
        return .json { renderer(for: context).writeIndex(index, into: &$0) }
    }

    private func delete(_ asked: IndexedPath, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.removeIndex(asked.path, from: context.app, trace: context.request.trace)
        return .noContent
    }
}

/// The property in a request's path, for example `metadata.status`. A text that is not a valid property yields
/// `not_found`.
private struct IndexedPath: RESTRequest {
    let path: MetadataPath

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        do throws(Failure) {
            path = try MetadataIndex.path(
                in: context.parameters.get("property").flatMap { $0.removingPercentEncoding } ?? "")
        } catch {
            throw .notFound("index")
        }
    }
}
