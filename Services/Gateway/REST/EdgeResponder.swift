// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import HTTPTypes
import Hummingbird
import Metrics
import Model
import Wire

/// What happens to every request whatever its route: CORS, the method override, unknown paths, counting (spec 1.3, 1.4).
struct EdgeResponder<Inner: HTTPResponder>: HTTPResponder where Inner.Context == RESTContext {
    let inner: Inner
    let services: GatewayServices

    func respond(to request: Request, context: RESTContext) async throws -> Response {
        let start = ContinuousClock.now
        let request = overridden(request).awaited(on: context.channel)
        var response = try await answer(request, context)
        if response.status == .serviceUnavailable, response.headers[.retryAfter] == nil { response.headers[.retryAfter] = "1" }
        if let origin = request.headers[.origin] { allow(origin, &response) }
        // A body would be taken for the beginning of the next answer. Routes for GET do not answer HEAD, refusals do.
        if request.method == .head { response = response.createHeadResponse() }
        services.metrics.answered(status: response.status.code, method: request.method.rawValue, in: .now - start)
        return response
    }

    private func answer(_ request: Request, _ context: RESTContext) async throws -> Response {
        if let wait = refusal(of: request, context) { return refused(for: wait, context) }
        if request.method == .options { return preflight() }
        let response = try await inner.respond(to: request, context: context)
        // What the routes answer is JSON, errors too; an error without is the router's own, which knows nothing of error objects.
        guard response.status.code >= 400, response.headers[.contentType] == nil else { return response }
        if response.status == .notFound { return failure(Failure(.invalidEndpoint, "There is no such method and path."), context) }
        return failure(Failure(.invalidRequest, "The request could not be understood (\(response.status.code))."), context)
    }

    /// Nobody is kept from finding out whether he is online.
    private func refusal(of request: Request, _ context: RESTContext) -> Duration? {
        if request.uri.path == "/ping" { return nil }
        let forwarded = request.headers[values: .forwardedFor]
        if let wait = services.limiter.admit(address: context.channel.remoteAddress, forwarded: forwarded) { return wait }
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else { return nil }
        return services.limiter.admit(session: RateKey(tokenDigest: token.digest))
    }

    private func refused(for wait: Duration, _ context: RESTContext) -> Response {
        var response = failure(.rateLimited, context)
        response.headers[.retryAfter] = "\(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))"
        return response
    }

    private func failure(_ failure: Failure, _ context: RESTContext) -> Response {
        RESTAnswer.json(HTTPResponse.Status(code: failure.code.status)) {
            services.renderer.write(failure, for: nil, version: context.version, into: &$0)
        }
        .response
    }

    /// `POST` with `X-HTTP-Method-Override: PATCH` is a `PATCH`.
    private func overridden(_ request: Request) -> Request {
        guard request.method == .post, request.headers[.methodOverride]?.uppercased() == "PATCH" else { return request }
        var head = request.head
        head.method = .patch
        return Request(head: head, body: request.body)
    }

    private func preflight() -> Response {
        Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
                .accessControlAllowHeaders: """
                authorization, content-type, accept, client-id, layer-xdk-version, upload-content-type, upload-content-length, \
                upload-origin, x-http-method-override, if-none-match, range
                """,
                .accessControlMaxAge: "86400",
            ])
    }

    /// Always the concrete origin: with credentials, browsers refuse a wildcard.
    private func allow(_ origin: String, _ response: inout Response) {
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = "Layer-Count, Link, Content-Range, ETag, Retry-After"
        response.headers[.vary] = "Origin"
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}

extension Failure {
    /// More was asked for than one client may.
    static let rateLimited = Failure(.rateLimitExceeded, "There were too many requests; please wait a little.")
}
