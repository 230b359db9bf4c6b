// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel
import StrataWire

/// Finds out which version of the Server API a request speaks. Objects of the Client API are written as of 2.0 for the versions before it, which have none.
struct ServerVersionMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        // `/apps/:app/webhooks` and what lies below it.
        let isOfWebhooks = request.uri.path.split(separator: "/").dropFirst(2).first == "webhooks"
        guard let version = request.headers[.accept].flatMap({ ServerVersion(accept: $0, isOfWebhooks: isOfWebhooks) }) else {
            let type =
                isOfWebhooks
                ? "application/vnd.layer.webhooks+json; version=3.0 (or 2.0, 1.0)" : "application/vnd.layer+json; version=3.0 (or 2.0, 1.1, 1.0)"
            let failure = Failure(.invalidHeader, "The Accept header must be \(type).", detail: .header("Accept"))
            throw errors.failed(failure, in: context)
        }
        var context = context
        context.serverVersion = version
        context.version = version.clientVersion
        return try await next(request, context)
    }
}
