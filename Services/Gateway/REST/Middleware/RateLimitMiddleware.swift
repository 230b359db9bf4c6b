// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel

/// A middleware that refuses a request over the rate limit of its address or session (docs/conformance.md §1.10),
/// before any other work.
struct RateLimitMiddleware: RESTMiddleware {
    let limiter: RateLimiter
    let serverTokens: ServerTokenDirectory
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        if let wait = wait(before: request, in: context) {
            throw errors.failed(.rateLimited, in: context, headers: Self.headers(toWait: wait))
        }
        return try await next(request, context)
    }

    /// Returns the `Retry-After` header for a wait, in seconds, rounded up, at least 1.
    static func headers(toWait wait: Duration) -> HTTPFields {
        [.retryAfter: "\(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))"]
    }

    /// Returns the time to wait; nil if the request is admitted. Connectivity probes are never refused, because a
    /// client must always be able to find out whether it is online.
    private func wait(before request: Request, in context: RESTContext) -> Duration? {
        if request.uri.path == "/ping" { return nil }
        if isKnownServer(request) { return nil }
        let forwarded = request.headers[values: .forwardedFor]
        if let wait = limiter.admit(address: context.channel.remoteAddress, forwarded: forwarded) { return wait }
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else {
            return nil
        }
        return limiter.admit(session: RateKey(tokenDigest: token.digest))
    }

    /// True if the request has a server token that was recently verified. All requests of an app's own server may come
    /// from one address, so ``ServerTokenMiddleware`` limits them by token. Requests with unverified tokens count for
    /// their address.
    private func isKnownServer(_ request: Request) -> Bool {
        // Split like the router does, without empty segments.
        let parts = request.uri.path.split(separator: "/", maxSplits: 2)
        guard parts.count > 1, parts[0] == "apps", let header = request.headers[.authorization],
            let token = ServerToken(authorization: header),
            let app = AppID(parsing: parts[1].removingPercentEncoding ?? String(parts[1]))
        else { return false }
        return serverTokens.known(token, for: app) != nil
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}

extension Failure {
    static let rateLimited = Failure(.rateLimitExceeded, "Too many requests. Please wait and try again.")
}
