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
