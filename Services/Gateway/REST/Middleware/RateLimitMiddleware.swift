// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel

/// Refuses a request whose address or session has asked for too much (docs/conformance.md §1.10), before anything else is done for it.
struct RateLimitMiddleware: RESTMiddleware {
    let limiter: RateLimiter
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        if let wait = wait(before: request, in: context) {
            let seconds = max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
            throw errors.failed(.rateLimited, in: context, headers: [.retryAfter: "\(seconds)"])
        }
        return try await next(request, context)
    }

    /// Probes of the connection are never refused: a client must always be able to find out whether it is online.
    private func wait(before request: Request, in context: RESTContext) -> Duration? {
        if request.uri.path == "/ping" { return nil }
        let forwarded = request.headers[values: .forwardedFor]
        if let wait = limiter.admit(address: context.channel.remoteAddress, forwarded: forwarded) { return wait }
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else { return nil }
        return limiter.admit(session: RateKey(tokenDigest: token.digest))
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}

extension Failure {
    /// More was asked for than one client may.
    static let rateLimited = Failure(.rateLimitExceeded, "There were too many requests; please wait a little.")
}
