// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import StrataModel

/// Refuses a request whose address or session has asked for too much (docs/conformance.md §1.10), before anything else is done for it.
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

    /// What says how long to wait.
    static func headers(toWait wait: Duration) -> HTTPFields {
        [.retryAfter: "\(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))"]
    }

    /// Probes of the connection are never refused: a client must always be able to find out whether it is online.
    private func wait(before request: Request, in context: RESTContext) -> Duration? {
        if request.uri.path == "/ping" { return nil }
        if isKnownServer(request) { return nil }
        let forwarded = request.headers[values: .forwardedFor]
        if let wait = limiter.admit(address: context.channel.remoteAddress, forwarded: forwarded) { return wait }
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else { return nil }
        return limiter.admit(session: RateKey(tokenDigest: token.digest))
    }

    /// Whether an app's own server asks whose token was found good a moment ago. All of its requests may come from one address, so that is not counted:
    /// ``ServerTokenMiddleware`` counts the token. Those that only try tokens are counted like all others.
    private func isKnownServer(_ request: Request) -> Bool {
        // As the router sees it: without empty parts.
        let parts = request.uri.path.split(separator: "/", maxSplits: 2)
        guard parts.count > 1, parts[0] == "apps", let header = request.headers[.authorization], let token = ServerToken(authorization: header),
            let app = AppID(parsing: parts[1].removingPercentEncoding ?? String(parts[1]))
        else { return false }
        return serverTokens.known(token, for: app) != nil
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}

extension Failure {
    /// More was asked for than one client may.
    static let rateLimited = Failure(.rateLimitExceeded, "There were too many requests; please wait a little.")
}
