// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Logging
import StrataModel

/// A step between the server and a route. ``ConsoleRoutes`` lists the steps in their order.
protocol ConsoleMiddleware: RouterMiddleware where Context == ConsoleContext {}

extension ConsoleMiddleware {
    /// The function that runs the remaining steps. It is `@concurrent`, because Hummingbird is compiled without
    /// `NonisolatedNonsendingByDefault`.
    typealias Next = @concurrent (Request, ConsoleContext) async throws -> Response
}

/// A middleware that adds the security headers to every answer. Pages load nothing from another origin, run no inline
/// script, and cannot be framed.
struct SecurityHeaders: ConsoleMiddleware {
    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
        font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'
        """

    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        // Answers with data are never cached.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        return response
    }
}

/// A middleware that answers errors of later steps with error objects.
struct ErrorMiddleware: ConsoleMiddleware {
    let logger: Logger

    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let refusal = Refusal(error)
            if refusal.status == .internalServerError {
                // The path's variables can be confidential, so only the route is logged.
                logger.error(
                    "unexpected error in a request",
                    metadata: [
                        "http.route": "\(context.endpointPath ?? "unknown")", "error.type": "\(type(of: error))",
                    ])
            }
            return refusal.response
        }
    }
}

/// A middleware that finds the client's address.
struct AddressMiddleware: ConsoleMiddleware {
    let trustedProxies: Int

    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        var context = context
        context.address = ClientAddress.client(
            peer: context.peer, forwarded: request.headers[values: .xForwardedFor], proxies: trustedProxies)
        return try await next(request, context)
    }
}

/// A middleware that requires a session. The request is a use of it, unless it has the header `X-Idle`: an open page
/// also reads without input.
struct SessionMiddleware: ConsoleMiddleware {
    let accounts: Accounts

    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        guard let token = request.cookies[SessionCookie.name]?.value,
            let session = try await accounts.session(
                with: SecretToken.digest(of: token), isUsed: request.headers[.idle] == nil)
        else { throw Refusal.signedOut }
        var context = context
        context.session = session
        return try await next(request, context)
    }
}

/// A middleware that requires the session's CSRF token. Only a page of the console can read it.
struct CSRFMiddleware: ConsoleMiddleware {
    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        guard let session = context.session, let token = request.headers[.csrfToken], session.hasCSRFToken(token) else {
            throw Refusal.csrf
        }
        return try await next(request, context)
    }
}

/// A middleware that requires the role `operator`.
struct RoleMiddleware: ConsoleMiddleware {
    @concurrent
    func handle(_ request: Request, context: ConsoleContext, next: Next) async throws -> Response {
        guard context.session?.role == .operator else { throw Refusal.noRight }
        return try await next(request, context)
    }
}

extension HTTPField.Name {
    static let csrfToken = Self("X-CSRF-Token")!
    static let idle = Self("X-Idle")!
    static let xForwardedFor = Self("X-Forwarded-For")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let crossOriginResourcePolicy = Self("Cross-Origin-Resource-Policy")!
}
