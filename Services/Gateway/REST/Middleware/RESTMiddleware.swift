// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// A step between the server and a route, for the request and its answer. ``RESTRouter`` lists the steps in their
/// order.
///
/// A middleware stores its findings for later steps in the ``RESTContext``.
protocol RESTMiddleware: RouterMiddleware where Context == RESTContext {}

extension RESTMiddleware {
    /// The function that runs the remaining steps. It is `@concurrent`, because Hummingbird is compiled without
    /// `NonisolatedNonsendingByDefault`.
    typealias Next = @concurrent (Request, RESTContext) async throws -> Response
}
