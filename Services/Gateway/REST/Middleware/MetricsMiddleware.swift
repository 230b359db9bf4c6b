// SPDX-License-Identifier: Apache-2.0
import Hummingbird

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
