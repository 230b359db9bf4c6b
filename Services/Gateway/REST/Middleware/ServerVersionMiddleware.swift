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
        guard let version = request.headers[.accept].flatMap({ ServerVersion(accept: $0) }) else {
            let failure = Failure(
                .invalidHeader, "The Accept header must be application/vnd.layer+json; version=3.0 (or 2.0, 1.1, 1.0).", detail: .header("Accept"))
            throw errors.failed(failure, in: context)
        }
        var context = context
        context.version = version.clientVersion
        return try await next(request, context)
    }
}
