// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import HTTPTypes
import Hummingbird
import RPC
import StrataModel
import StrataWire

/// A middleware that authenticates the user by the session token.
struct SessionMiddleware: RESTMiddleware {
    let sessions: SessionDirectory
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            context.user = try await sessions.session(of: request, trace: context.trace).key
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}

extension SessionDirectory {
    /// Returns the session of a request.
    /// - Throws: `authentication_required` without a nonce, which ``ErrorObjects`` adds.
    func session(of request: Request, trace: TraceID) async throws(Failure) -> Session {
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else {
            throw Failure(.authenticationRequired, "Please sign in.")
        }
        return try await session(for: token, trace: trace)
    }
}

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

/// A middleware by which an app's own server acts on behalf of the user in the path. Later steps answer as for that
/// user, with URLs below the server's path.
///
/// The user may be suspended.
struct OnBehalfMiddleware: RESTMiddleware {
    let services: GatewayServices
    let errors: ErrorObjects

    /// Returns the user of the path, decoded once. A text that looks like a full identity id is taken literally,
    /// because it would otherwise name another user.
    private static func user(in segment: String) -> UserID? { segment.removingPercentEncoding.flatMap { UserID($0) } }

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            guard let server = context.server else {
                throw Failure(.authenticationRequired, "The request needs a server token.")
            }
            // A malformed message id takes precedence over an unknown user, as in recorded answers.
            try context.checkMessageID()
            guard let user = context.parameters.get("owner").flatMap({ Self.user(in: $0) }) else {
                throw .notFound("user")
            }
            context.user = try await services.knownUser(UserKey(app: server.app, user: user), trace: context.trace)
            context.renderer = services.renderer.withBasePath("/apps/\(server.app)/users/\(user.percentEncoded)")
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}
