// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird

/// What a browser has to read to give an answer to a page of another origin (docs/conformance.md §1.4).
///
/// Hummingbird's own middleware answers a preflight before the limits are asked, leaves out which headers a page may read, and allows no origin `null`.
struct CORSMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var response = try await next(request, context)
        if let origin = request.headers[.origin] { allow(origin, in: &response) }
        return response
    }

    /// Always the concrete origin: with credentials, browsers refuse a wildcard.
    private func allow(_ origin: String, in response: inout Response) {
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = "Layer-Count, Link, Content-Range, ETag, Retry-After, Strata-Position, Strata-User-Position"
        response.headers[.vary] = "Origin"
    }
}

/// Answers the question that a browser asks before it makes a request: which methods and headers there may be.
///
/// It is the other half of ``CORSMiddleware``, which adds to its answer too. It stands behind the limits, which count such a question like any request.
struct PreflightMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        guard request.method == .options else { return try await next(request, context) }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
                .accessControlAllowHeaders: """
                authorization, content-type, accept, client-id, layer-xdk-version, upload-content-type, upload-content-length, \
                upload-origin, x-http-method-override, if-none-match, range, strata-mutation
                """,
                .accessControlMaxAge: "86400",
            ])
    }
}
