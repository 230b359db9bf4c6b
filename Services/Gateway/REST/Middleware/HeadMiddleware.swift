// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// An answer to `HEAD` has no body: the client would take it for the beginning of the next answer. Refusals have bodies whatever the method.
///
/// Hummingbird can make a route for `HEAD` of each for `GET`. Clients are answered 404 on these, and no request does work for an answer that is thrown away.
struct HeadMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}
