// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// A step that a request takes before it reaches its route, and that the answer takes on its way back. ``RESTRouter`` lists them in their order.
///
/// What a middleware finds out for those behind it and for the route, it puts into the ``RESTContext``.
protocol RESTMiddleware: RouterMiddleware where Context == RESTContext {}

extension RESTMiddleware {
    /// The steps that follow. Hummingbird is compiled without `NonisolatedNonsendingByDefault`, so its functions are `@concurrent`.
    typealias Next = @concurrent (Request, RESTContext) async throws -> Response
}
