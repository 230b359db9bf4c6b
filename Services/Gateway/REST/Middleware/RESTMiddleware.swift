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

/// A middleware that counts and times each answer, including refusals.
///
/// Hummingbird's middleware uses other metric names and keeps series for each route.
struct MetricsMiddleware: RESTMiddleware {
    let metrics: GatewayMetrics

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        metrics.answered(status: response.status.code, method: request.method.rawValue, in: .now - start)
        return response
    }
}

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
