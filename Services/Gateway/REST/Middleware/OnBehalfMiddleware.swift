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

    /// The user of the path, decoded once. An id that looks like a whole identity id is not taken for one: it would be another user's.
    private static func user(in segment: String) -> UserID? { segment.removingPercentEncoding.flatMap { UserID($0) } }

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            guard let server = context.server else { throw Failure(.authenticationRequired, "The request needs a server token.") }
            // Recorded answers have a malformed id of a message refused before an unknown user.
            try context.checkMessageID()
            guard let user = context.parameters.get("owner").flatMap({ Self.user(in: $0) }) else { throw .notFound("user") }
            context.user = try await services.knownUser(UserKey(app: server.app, user: user), trace: context.trace)
            context.renderer = services.renderer.below("/apps/\(server.app)/users/\(user.percentEncoded)")
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}
