// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import Hummingbird
import StrataModel
import StrataWire

/// A middleware by which an app's own server acts on behalf of the user in the path. Later steps answer as for that
/// user, with URLs below the server's path.
///
/// The user may be suspended.
struct OnBehalfMiddleware: RESTMiddleware {
    let services: GatewayServices
    let errors: ErrorObjects

    /// Returns the user of the path, decoded once. A text that looks like a full identity id is taken literally,
    /// because it would otherwise name another user.
    private static func user(in segment: String) -> UserID? { segment.removingPercentEncoding.flatMap { UserID($0) } }

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            guard let server = context.server else {
                throw Failure(.authenticationRequired, "The request needs a server token.")
            }
            // A malformed message id takes precedence over an unknown user, as in recorded answers.
            try context.checkMessageID()
            guard let user = context.parameters.get("owner").flatMap({ Self.user(in: $0) }) else {
                throw .notFound("user")
            }
            context.user = try await services.knownUser(UserKey(app: server.app, user: user), trace: context.trace)
            context.renderer = services.renderer.withBasePath("/apps/\(server.app)/users/\(user.percentEncoded)")
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}
