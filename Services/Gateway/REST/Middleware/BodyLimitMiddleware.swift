// SPDX-License-Identifier: Apache-2.0
import Hummingbird

/// Bounds the bytes that bodies of requests take in memory: the route that reads one takes room for it from the request's ``RESTContext/body``.
struct BodyLimitMiddleware: RESTMiddleware {
    let bodies: BodyBudget

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        let request = request.awaited(on: context.channel)
        guard request.method != .get else { return try await next(request, context) }
        var context = context
        context.body = BodyBudget.Lease(bodies)
        return try await next(request, context)
    }
}
