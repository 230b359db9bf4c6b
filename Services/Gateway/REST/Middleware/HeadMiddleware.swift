// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// A middleware that removes the body of answers to `HEAD`. A client would read such a body as the beginning of the
/// next answer, and error objects are bodies.
///
/// Hummingbird can add a `HEAD` route for each `GET` route. That is not used: clients receive 404 instead, and no work
/// is done for a discarded body.
struct HeadMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}
