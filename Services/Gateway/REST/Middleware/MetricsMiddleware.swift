// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// Counts and times each answer, those to refused requests too.
///
/// Hummingbird's own middleware names its metrics differently, and keeps series for each route.
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
