// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import Hummingbird
import StrataModel
import StrataWire

struct BlockRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let blocks = routes.signedIn("/blocks", isOnBehalf: false)
        blocks.on(.get, use: list)
        blocks.on(.put, "users/:user", use: block)
        blocks.on(.delete, "users/:user", use: unblock)
    }

    private func list(_ asked: ListRequest<UsersQuery>, in context: SignedInContext) async throws(Failure) -> RESTAnswer
    {
        let page = try await services.blocks(
            pageSize: asked.query.pageSize, from: asked.query.fromID, for: context.call)
        let renderer = self.renderer(for: context)
        return .list(page.objects, headers: headers(of: page, in: context, list: "/blocks", query: asked.text)) {
            renderer.writeBasicIdentity($0, into: &$1)
        }
    }

    private func block(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        guard user != context.reader else { throw .invalid("user_id", reason: "is your own") }
        return .noContent.at(try await services.changeBlocks([.add([user])], for: context.call))
    }

    private func unblock(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.changeBlocks([.remove([user])], for: context.call))
    }
}

/// Routes by which an app's own server reads and changes the users that a user has blocked (docs/server-api.md).
struct ServerBlockRoutes: RESTFeature {
    let services: GatewayServices

    /// The number of users read from the service in one call.
    private static let pageSize = 500

    func add(to routes: RESTRoutes) {
        let blocks = routes.server("/users/:owner/blocks")
        blocks.on(.get, use: list)
        blocks.on(.post, use: block)
        blocks.on(.delete, ":user", use: unblock)
    }

    /// Returns the whole list. It has no pages; its length is bounded by the limit of blocks per user.
    private func list(_ owner: BlockOwner, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let call = try await call(for: owner, in: context)
        var identities: [BasicIdentity] = []
        var total = 0
        repeat {
            let page = try await services.blocks(
                pageSize: Self.pageSize, from: identities.last?.userID, for: call.renewed)
            identities += page.objects
            total = page.total ?? identities.count
            if page.nextFrom == nil { break }
        } while true
        let renderer = self.renderer(for: context)
        return .list(identities, total: max(total, identities.count)) { identity, writer in
            guard context.version < .v2 else { return renderer.writeBasicIdentity(identity, into: &writer) }
            writer.beginObject()
            writer.key("user_id")
            writer.string(identity.userID.rawValue)
            writer.endObject()
        }
    }

    private func block(
        _ asked: ObjectRequest<BlockOwner, BlockBody>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        guard asked.content.user != asked.id.user else { throw .invalid("user_id", reason: "is the user's own id") }
        try await change([.add([asked.content.user])], of: asked.id, in: context)
        return .noContent
    }

    private func unblock(
        _ asked: ObjectRequest<BlockOwner, UserID>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        try await change([.remove([asked.content])], of: asked.id, in: context)
        return .noContent
    }

    private func change(
        _ operations: [BlockListOperation], of owner: BlockOwner, in context: ServerContext
    ) async throws(Failure) {
        let call = try await call(for: owner, in: context)
        _ = try await services.changeBlocks(operations, createsUser: context.version < .v2, for: call)
    }

    /// Returns a call for the owner. Up to version 1.1, the user may be unknown to the app.
    private func call(for owner: BlockOwner, in context: ServerContext) async throws(Failure) -> GatewayServices.Call {
        let key = UserKey(app: context.app, user: owner.user)
        if context.version >= .v2 { _ = try await services.knownUser(key, trace: context.request.trace) }
        return context.namedCall(for: key)
    }
}

/// The user in the path whose blocks are addressed.
struct BlockOwner: RESTRequest {
    let user: UserID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let user = context.parameters.get("owner").flatMap({ $0.removingPercentEncoding }).flatMap({ UserID($0) })
        else {
            throw .notFound("user")
        }
        self.user = user
    }
}

extension BlockBody: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try BlockBody(try await request.object(context))
    }
}
