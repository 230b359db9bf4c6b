// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import Model
import Wire

/// Identities and who follows whom (spec 4.3, 4.4).
extension RESTRouter {
    func registerFollowing(on router: RESTRoutes) {
        on(router, .get, "/identities", .signedIn) { request, context throws(Failure) in
            let (identities, total) = try await followed(request, context)
            return .list(identities, total: total) { services.renderer.write($0, into: &$1) }
        }
        on(router, .get, "/identities/:user", .signedIn) { _, context throws(Failure) in
            let user = try context.userID()
            guard let identity = try await services.identities([user], try context.call()).first else { throw .notFound("identity") }
            return .json { services.renderer.write(identity, into: &$0) }
        }
        on(router, .get, "/following", .signedIn) { request, context throws(Failure) in
            let (identities, total) = try await followed(request, context)
            return .list(identities, total: total) { $1.string($0.basic.userID.layerID) }
        }
        on(router, .get, "/following/users/:user", .signedIn) { _, context throws(Failure) in
            guard try await services.isFollowed(try context.userID(), try context.call()) else { throw .notFound("followed identity") }
            return .noContent
        }
        on(router, .put, "/following/users/:user", .signedIn) { _, context throws(Failure) in
            let user = try context.userID()
            guard user != (try context.reader()) else { throw .invalid("user_id", "is your own") }
            try await services.follow([user], try context.call())
            return .noContent
        }
        on(router, .post, "/following/users", .signedIn) { request, context throws(Failure) in
            let body = try FollowBody(try await json(request))
            try await services.follow(body.users, try context.call())
            return RESTAnswer(status: .accepted)
        }
        // One document spells it without "users".
        for path in ["/following/users/:user", "/following/:user"] as [RouterPath] {
            on(router, .delete, path, .signedIn) { _, context throws(Failure) in
                try await services.unfollow(try context.userID(), try context.call())
                return .noContent
            }
        }
    }

    private func followed(_ request: Request, _ context: RESTContext) async throws(Failure) -> (identities: [Identity], total: Int) {
        let query = try UsersQuery(parameter: Self.parameter(request))
        return try await services.followed(pageSize: query.pageSize, from: query.fromID, try context.call())
    }
}
