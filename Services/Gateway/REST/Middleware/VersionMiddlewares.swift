// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// A middleware that reads the protocol version of a request from `Accept` (docs/conformance.md §1.2).
struct VersionMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        guard let version = request.headers[.accept].flatMap({ WireVersion(accept: $0) }) else {
            let failure = Failure(
                .invalidHeader, "The Accept header must be application/vnd.layer+json; version=3.0 (or 2.0).",
                detail: .header("Accept"))
            throw errors.failed(failure, in: context)
        }
        var context = context
        context.version = version
        return try await next(request, context)
    }
}

/// A middleware that reads the version of the Server API from `Accept`. The Client API begins with 2.0, so its objects
/// are written as of 2.0 for earlier versions.
struct ServerVersionMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        // True for `/apps/:app/webhooks` and the paths below it.
        let isOfWebhooks = request.uri.path.split(separator: "/").dropFirst(2).first == "webhooks"
        guard let version = request.headers[.accept].flatMap({ ServerVersion(accept: $0, isOfWebhooks: isOfWebhooks) })
        else {
            let type =
                isOfWebhooks
                ? "application/vnd.layer.webhooks+json; version=3.0 (or 2.0, 1.0)"
                : "application/vnd.layer+json; version=3.0 (or 2.0, 1.1, 1.0)"
            let failure = Failure(.invalidHeader, "The Accept header must be \(type).", detail: .header("Accept"))
            throw errors.failed(failure, in: context)
        }
        var context = context
        context.serverVersion = version
        context.version = version.clientVersion
        return try await next(request, context)
    }
}

/// A middleware that makes the URLs in answers to an app's own server point below `/apps/:app`.
struct SystemRendererMiddleware: RESTMiddleware {
    let renderer: Renderer

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        if let server = context.server { context.renderer = renderer.withBasePath("/apps/\(server.app)") }
        return try await next(request, context)
    }
}
