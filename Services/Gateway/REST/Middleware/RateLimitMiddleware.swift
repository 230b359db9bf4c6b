// SPDX-License-Identifier: Apache-2.0
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
            let seconds = max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
            throw errors.failed(.rateLimited, in: context, headers: [.retryAfter: "\(seconds)"])
        }
        return try await next(request, context)
    }

    /// Probes of the connection are never refused: a client must always be able to find out whether it is online.
    private func wait(before request: Request, in context: RESTContext) -> Duration? {
        if request.uri.path == "/ping" { return nil }
        if let caller = knownServer(of: request) { return limiter.admit(server: caller) }
        let forwarded = request.headers[values: .forwardedFor]
        if let wait = limiter.admit(address: context.channel.remoteAddress, forwarded: forwarded) { return wait }
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else { return nil }
        return limiter.admit(session: RateKey(tokenDigest: token.digest))
    }

    /// The app's own server that asks, if its token was found good a moment ago. All of an app's requests may come from one address, so that is not counted;
    /// those that only try tokens are counted like all others.
    private func knownServer(of request: Request) -> ServerCaller? {
        let path = request.uri.path
        guard path.hasPrefix("/apps/"), let header = request.headers[.authorization], let token = ServerToken(authorization: header),
            let app = AppID(parsing: path.dropFirst("/apps/".count).prefix { $0 != "/" })
        else { return nil }
        return serverTokens.known(token, for: app)
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}

extension Failure {
    /// More was asked for than one client may.
    static let rateLimited = Failure(.rateLimitExceeded, "There were too many requests; please wait a little.")
}
