// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel

/// A middleware that authenticates the app's own server by its token.
struct ServerTokenMiddleware: RESTMiddleware {
    let tokens: ServerTokenDirectory
    let limiter: RateLimiter
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        context.isServerRequest = true
        do throws(Failure) {
            context.server = try await caller(of: request, in: context)
        } catch {
            throw errors.failed(
                error, in: context, headers: error.code == .authenticationRequired ? [.wwwAuthenticate: "Bearer"] : [:])
        }
        if let server = context.server, let wait = limiter.admit(server: server) {
            throw errors.failed(.rateLimited, in: context, headers: RateLimitMiddleware.headers(toWait: wait))
        }
        return try await next(request, context)
    }

    /// Returns the caller. An unknown app takes precedence over an invalid token.
    private func caller(of request: Request, in context: RESTContext) async throws(Failure) -> ServerCaller {
        guard let app = context.parameters.get("app").flatMap({ AppID(parsing: $0.removingPercentEncoding ?? $0) })
        else {
            throw Failure(.invalidAppID, "There is no such app.")
        }
        guard let token = request.headers[.authorization].flatMap({ ServerToken(authorization: $0) }) else {
            try await tokens.checkApp(app, trace: context.trace)
            throw Failure(
                .authenticationRequired, "The request needs a server token, as Authorization: Bearer <token>.")
        }
        return try await tokens.caller(with: token, for: app, trace: context.trace)
    }
}
