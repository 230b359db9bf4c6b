// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

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
