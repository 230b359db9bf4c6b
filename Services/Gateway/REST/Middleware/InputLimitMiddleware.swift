// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import NIOCore

/// A middleware that limits the memory of parsed request bodies. The route that parses a body reserves memory from the
/// request's ``RESTContext/input``. ``RequestGuard`` counts the bodies themselves.
struct InputLimitMiddleware: RESTMiddleware {
    let input: InputBudget
    let limiter: RateLimiter

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        let request = request.awaited(on: context.channel)
        guard request.method != .get else { return try await next(request, context) }
        var context = context
        let address = limiter.client(context.channel.remoteAddress, forwarded: request.headers[values: .forwardedFor])
        context.input = InputBudget.Share(input, of: address)
        return try await next(request, context)
    }
}
