// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird

/// A responder that treats `POST` with `X-HTTP-Method-Override: PATCH` as `PATCH` (docs/conformance.md §1.3).
///
/// A middleware could not do this: the router chooses a route by the method before it runs that route's middlewares.
struct MethodOverride<Inner: HTTPResponder>: HTTPResponder where Inner.Context == RESTContext {
    let inner: Inner

    func respond(to request: Request, context: RESTContext) async throws -> Response {
        guard request.method == .post, request.headers[.methodOverride]?.uppercased() == "PATCH" else {
            return try await inner.respond(to: request, context: context)
        }
        var head = request.head
        head.method = .patch
        return try await inner.respond(to: Request(head: head, body: request.body), context: context)
    }
}

extension HTTPField.Name {
    fileprivate static let methodOverride = Self("X-HTTP-Method-Override")!
}
