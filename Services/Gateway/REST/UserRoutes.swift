// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Routes by which an app's own server manages the app and its users: identities, suspension, sessions, badges and
/// erasure (docs/server-api.md).
struct UserRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        routes.server("").on(.patch, use: patchApp)
        let user = routes.server("/users/:owner")
        user.on(.get, use: load)
        user.on(.patch, use: patch)
        user.on(.delete, use: erase)
        let identity = routes.server("/users/:owner/identity")
        identity.on(.get, use: loadIdentity)
        identity.on(.post, use: createIdentity)
        identity.on(.put, use: replaceIdentity)
        identity.on(.patch, use: patchIdentity)
        identity.on(.delete, use: deleteIdentity)
        // Objects of version 2.0 point to this path.
        routes.server("/identities/:owner").on(.get, use: loadIdentity)
        let sessions = routes.server("/users/:owner/sessions")
        sessions.on(.get, use: listSessions)
        sessions.on(.delete, use: endSessions)
        sessions.on(.delete, ":id", use: endSession)
        let badge = routes.server("/users/:owner/badge")
        badge.on(.get, use: loadBadge)
        badge.on(.put, use: putBadge)
        badge.on(.patch, use: patchBadge)
    }

    // MARK: The app

    private func patchApp(_ patch: AppPatch, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.patchApp(context.app, patch, as: context.idempotencyKey, trace: context.request.trace)
        return RESTAnswer(status: .accepted)
    }

    // MARK: Users

    private func load(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let found = try await services.user(owner.key(in: context), trace: context.request.trace)
        return .json {
            renderer(for: context)
                .writeUser(found.identity, isSuspended: found.isSuspended, version: context.version, into: &$0)
        }
    }

    /// Applies a patch, each property with its own call. All properties are validated before the first call, and the
    /// property that can still be refused comes first.
    private func patch(
        _ asked: ObjectRequest<OwnerRequest, UserPatch>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let (key, content) = (asked.id.key(in: context), asked.content)
        guard !content.blocks.contains(where: { $0.blocks(asked.id.user) }) else {
            throw .invalid("blocks", reason: "has the user's own id")
        }
        if content.isSuspended != nil || content.blocks.isEmpty || context.version >= .v2 {
            _ = try await services.knownUser(key, trace: context.request.trace)
        }
        if !content.blocks.isEmpty {
            _ = try await services.changeBlocks(
                content.blocks, createsUser: context.version < .v2, for: context.namedCall(for: key))
        }
        if let isSuspended = content.isSuspended {
            try await services.suspend(key, isSuspended, as: context.idempotencyKey, trace: context.request.trace)
        }
        return RESTAnswer(status: .accepted)
    }

    private func erase(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await services.erase(owner.key(in: context), as: context.idempotencyKey, trace: context.request.trace)
        return RESTAnswer(status: .accepted)
    }

    // MARK: Identities

    private func loadIdentity(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let found = try await services.user(owner.key(in: context), trace: context.request.trace)
        guard found.identity != Identity(basic: BasicIdentity(userID: found.identity.basic.userID)) else {
            throw .notFound("identity")
        }
        return .json { renderer(for: context).writeIdentity(found.identity, version: context.version, into: &$0) }
    }

    private func createIdentity(_ asked: IdentityRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer
    {
        try await write(asked.body, mode: "create", of: asked.owner, in: context)
        return RESTAnswer(status: .created)
    }

    private func replaceIdentity(
        _ asked: IdentityRequest, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        try await write(asked.body, mode: "replace", of: asked.owner, in: context)
        return .noContent
    }

    private func patchIdentity(
        _ asked: IdentityPatchRequest, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        try await write(asked.body, mode: "patch", of: asked.owner, in: context)
        return .noContent
    }

    private func deleteIdentity(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        var nothing = IdentityBody()
        nothing.metadata = [:]
        try await write(nothing, mode: "delete", of: owner, in: context)
        return .noContent
    }

    private func write(
        _ body: IdentityBody, mode: String, of owner: OwnerRequest, in context: ServerContext
    ) async throws(Failure) {
        try await services.writeIdentity(
            body, mode: mode, of: owner.key(in: context), as: context.idempotencyKey, trace: context.request.trace)
    }

    // MARK: Sessions

    private func listSessions(
        _ asked: ObjectRequest<OwnerRequest, ListRequest<SessionsQuery>>, in context: ServerContext
    ) async throws(Failure)
        -> RESTAnswer
    {
        let (user, query) = (asked.id.user, asked.content.query)
        let key = try await services.knownUser(asked.id.key(in: context), trace: context.request.trace)
        let page = try await services.userSessions(
            of: key, pageSize: query.pageSize, from: query.from, trace: context.request.trace)
        let renderer = self.renderer(for: context)
        let list = "/users/\(user.percentEncoded)/sessions"
        return .list(page.objects, headers: headers(of: page, in: context, list: list, query: asked.content.text)) {
            renderer.writeSession($0, of: user, into: &$1)
        }
    }

    private func endSessions(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let key = try await services.knownUser(owner.key(in: context), trace: context.request.trace)
        try await services.endSessions(of: key, session: nil, as: context.idempotencyKey, trace: context.request.trace)
        return .noContent
    }

    private func endSession(_ asked: SessionRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let key = try await services.knownUser(asked.owner.key(in: context), trace: context.request.trace)
        let wasThere = try await services.endSessions(
            of: key, session: asked.session, as: context.idempotencyKey, trace: context.request.trace)
        guard wasThere else { throw .notFound("session") }
        return .noContent
    }

    // MARK: Badges

    private func loadBadge(_ owner: OwnerRequest, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        try await badge(of: owner, setting: nil, in: context)
    }

    private func putBadge(
        _ asked: ObjectRequest<OwnerRequest, BadgeRequest>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        _ = try await badge(of: asked.id, setting: asked.content.body.externalUnreadCount, in: context)
        return .noContent
    }

    private func patchBadge(
        _ asked: ObjectRequest<OwnerRequest, BadgePatchRequest>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        try await badge(of: asked.id, setting: asked.content.body.externalUnreadCount, in: context)
    }

    private func badge(
        of owner: OwnerRequest, setting count: Int64?, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let badge = try await services.badge(
            of: owner.key(in: context), setting: count, as: context.idempotencyKey, trace: context.request.trace)
        return .json { renderer(for: context).writeBadge(badge, into: &$0) }
    }
}

// MARK: Requests

/// The user in a path of an app's own server, decoded once. A text that looks like a full identity id is taken
/// literally.
struct OwnerRequest: RESTRequest {
    let user: UserID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let user = context.parameters.get("owner").flatMap({ $0.removingPercentEncoding }).flatMap({ UserID($0) })
        else {
            throw .notFound("user")
        }
        self.user = user
    }

    func key(in context: ServerContext) -> UserKey { UserKey(app: context.app, user: user) }
}

private struct IdentityRequest: RESTRequest {
    let owner: OwnerRequest
    let body: IdentityBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        owner = try OwnerRequest(request, in: context, for: services)
        body = try IdentityBody(try await request.object(context), of: owner.user)
    }
}

private struct IdentityPatchRequest: RESTRequest {
    let owner: OwnerRequest
    let body: IdentityBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        body = try IdentityBody(patch: try await request.patch(context))
        owner = try OwnerRequest(request, in: context, for: services)
    }
}

private struct BadgeRequest: RESTRequest {
    let body: BadgeBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        body = try BadgeBody(try await request.object(context))
    }
}

private struct BadgePatchRequest: RESTRequest {
    let body: BadgeBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        body = try BadgeBody(patch: try await request.patch(context))
    }
}

extension UserPatch: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try UserPatch(try await request.patch(context))
    }
}

extension AppPatch: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        self = try AppPatch(try await request.patch(context))
    }
}

private struct SessionRequest: RESTRequest {
    let owner: OwnerRequest
    let session: UUID

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        owner = try OwnerRequest(request, in: context, for: services)
        guard let session = context.parameters.get("id").flatMap({ UUID(uuidString: String($0)) }) else {
            throw .notFound("session")
        }
        self.session = session
    }
}

extension SessionsQuery: RESTRequest {
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        self = try SessionsQuery(parameter: request.parameter)
    }
}
