// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
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
        guard let header = request.headers[.authorization], let token = ServerToken(authorization: header) else {
            return false
        }
        // Split like the router does, without empty segments.
        let parts = request.uri.path.split(separator: "/", maxSplits: 2)
        guard parts.count > 1, parts[0] == "apps",
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

/// A middleware that limits the bytes held by answers and the number of long answers made concurrently.
struct AnswerLimitMiddleware: RESTMiddleware {
    let answers: AnswerBudget
    let longAnswers: LongAnswers
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        // A client that changes something must learn the outcome, so only a GET can be refused.
        let lease = AnswerBudget.Lease(answers, isRefusable: request.method == .get)
        var context = context
        context.answer = lease
        context.longAnswers = longAnswers
        let turn: LongAnswers.Turn?
        do throws(Failure) {
            turn = request.method == .get ? try await context.turn(patience: LongAnswers.patience) : nil
        } catch {
            throw errors.failed(error, in: context)
        }
        defer {
            context.recordBytes(lease.takeAnswered())
            turn?.end()
        }
        return try await next(request, context)
    }
}
