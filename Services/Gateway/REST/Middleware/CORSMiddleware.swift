// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird

/// A middleware that adds the headers by which a browser lets a page of another origin read an answer
/// (docs/conformance.md §1.4).
///
/// Hummingbird's middleware differs in three ways: it answers a preflight before the rate limits, does not expose
/// headers to pages, and does not allow the origin `null`.
struct CORSMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var response = try await next(request, context)
        if let origin = request.headers[.origin] { allow(origin, in: &response) }
        return response
    }

    /// Adds headers with the concrete origin, because browsers refuse a wildcard for requests with credentials.
    ///
    /// A route that sets `Vary` itself includes `Origin` in it.
    private func allow(_ origin: String, in response: inout Response) {
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] =
            "Layer-Count, Link, Content-Range, ETag, Retry-After, Strata-Position, Strata-User-Position"
        if response.headers[.vary] == nil { response.headers[.vary] = "Origin" }
    }
}

/// A middleware that answers preflight requests with the allowed methods and headers.
///
/// ``CORSMiddleware`` adds its headers to these answers, too. This middleware runs after the rate limits, so that a
/// preflight counts as a request.
struct PreflightMiddleware: RESTMiddleware {
    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        guard request.method == .options else { return try await next(request, context) }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
                .accessControlAllowHeaders: """
                authorization, content-type, accept, client-id, layer-xdk-version, upload-content-type, \
                upload-content-length, upload-origin, x-http-method-override, if-none-match, range, strata-mutation
                """,
                .accessControlMaxAge: "86400",
            ])
    }
}
