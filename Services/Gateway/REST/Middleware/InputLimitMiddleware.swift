// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import NIOCore

/// Bounds the memory that parsed bodies of requests take: the route that parses one reserves it from the request's ``RESTContext/input``. The bodies themselves
/// are counted by ``RequestGuard``.
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
