// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes for identities and for following users (docs/conformance.md §4.3, §4.4).
struct FollowingRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let identities = routes.signedIn("/identities")
        identities.on(.get, use: listIdentities)
        identities.on(.get, ":user", use: load)
        let following = routes.signedIn("/following")
        following.on(.get, use: list)
        // One document spells the path without "users".
        following.on(.delete, ":user", use: unfollow)
        // Apps' own servers use all paths without "users". For them, "users" is a user id.
        let ofClients = routes.signedIn("/following", isOnBehalf: false)
        ofClients.on(.get, "users/:user", use: isFollowed)
        ofClients.on(.put, "users/:user", use: follow)
        ofClients.on(.post, "users", use: followMany)
        ofClients.on(.delete, "users/:user", use: unfollow)
        let onBehalf = routes.onBehalf("/following")
        onBehalf.on(.get, ":user", use: isFollowed)
        onBehalf.on(.put, ":user", use: follow)
        onBehalf.on(.post, use: followMany)
    }

    // MARK: Identities

    private func listIdentities(
        _ asked: IdentitiesRequest, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let renderer = self.renderer(for: context)
        switch asked {
        case .named(let users):
            let identities = try await services.identities(users, for: context.call)
            return .list(identities, total: identities.count) { renderer.writeIdentity($0, into: &$1) }
        case .followed(let list):
            let page = try await followed(list.query, in: context)
            return .list(page.objects, headers: headers(of: page, in: context, list: "/identities", query: list.text)) {
                renderer.writeIdentity($0, into: &$1)
            }
        }
    }

    private func load(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        guard let identity = try await services.identities([user], for: context.call).first else {
            throw .notFound("identity")
        }
        return .json { renderer(for: context).writeIdentity(identity, into: &$0) }
    }

    // MARK: Following

    private func list(_ asked: ListRequest<UsersQuery>, in context: SignedInContext) async throws(Failure) -> RESTAnswer
    {
        let page = try await followed(asked.query, in: context)
        return .list(page.objects, headers: headers(of: page, in: context, list: "/following", query: asked.text)) {
            $1.string($0.basic.userID.layerID)
        }
    }

    private func isFollowed(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        guard try await services.isFollowed(user, for: context.call) else { throw .notFound("followed identity") }
        return .noContent
    }

    private func follow(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        guard user != context.reader else { throw .invalid("user_id", reason: "is your own") }
        return .noContent.at(try await services.follow([user], for: context.call))
    }

    private func followMany(_ body: FollowBody, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        RESTAnswer(status: .accepted).at(try await services.follow(body.users, for: context.call))
    }

    private func unfollow(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.unfollow(user, for: context.call))
    }

    private func followed(
        _ query: UsersQuery, in context: SignedInContext
    ) async throws(Failure) -> ListPage<[Identity]> {
        try await services.followed(pageSize: query.pageSize, from: query.fromID, for: context.call)
    }
}

private enum IdentitiesRequest: RESTRequest {
    case named([UserID])
    /// A page of the users that the user follows.
    case followed(ListRequest<UsersQuery>)

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) async throws(Failure) {
        let ids = request.parameters("ids")
        self =
            ids.isEmpty
            ? .followed(try await ListRequest(request, in: context, for: services))
            : .named(try IdentitiesQuery(ids: ids, from: context.sender).users)
    }
}
