// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import Hummingbird
import StrataModel
import StrataWire

/// Lets an app's own server ask on behalf of the user in the path: what follows answers as it answers that user, with URLs that the server can use.
///
/// A suspended user can be spoken for, too.
struct OnBehalfMiddleware: RESTMiddleware {
    let services: GatewayServices
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            guard let server = context.server else { throw Failure(.authenticationRequired, "The request needs a server token.") }
            guard let user = context.parameters.get("owner").flatMap({ UserID(pathSegment: $0) }) else { throw .notFound("user") }
            context.user = try await services.knownUser(UserKey(app: server.app, user: user), trace: context.trace)
            context.renderer = services.renderer.below("/apps/\(server.app)/users/\(user.percentEncoded)")
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}
