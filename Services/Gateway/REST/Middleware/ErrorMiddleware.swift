// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import Logging
import ServiceKit
import StrataModel
import StrataWire

/// A middleware that turns errors thrown by later steps into error objects (docs/conformance.md §1.11). Earlier steps
/// receive answers only.
struct ErrorMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as FailedRequest {
            return error.response
        } catch let error as any HTTPResponseError {
            // The router's own errors carry no error object.
            return errors.failed(Self.failure(error.status), in: context).response
        }
    }

    private static func failure(_ status: HTTPResponse.Status) -> Failure {
        status == .notFound
            ? Failure(.invalidEndpoint, "No endpoint has this method and path.")
            : Failure(.invalidRequest, "The request could not be understood (\(status.code)).")
    }
}

/// A failure on its way to ``ErrorMiddleware``, with the facts known about the request.
struct FailedRequest: HTTPResponseError {
    let failure: Failure
    fileprivate var headers: HTTPFields
    fileprivate let context: RESTContext
    fileprivate let errors: ErrorObjects

    var status: HTTPResponse.Status { RequestBody.status(of: failure) }

    var response: Response {
        var response = errors.answer(to: failure, status: status, in: context).response(context)
        for field in headers { response.headers[field.name] = field.value }
        if response.status == .serviceUnavailable, response.headers[.retryAfter] == nil {
            response.headers[.retryAfter] = "1"
        }
        return response
    }

    func response(from request: Request, context: some RequestContext) -> Response { response }
}

final class ErrorObjects: Sendable {
    private let renderer: Renderer
    private let nonceKey: Nonce.Key

    /// - Parameter nonceKey: the key that signs nonces.
    init(_ renderer: Renderer, nonceKey: Nonce.Key) {
        self.renderer = renderer
        self.nonceKey = nonceKey
    }

    /// Returns the error to throw when a request fails.
    /// - Parameters:
    ///   - context: the request's context, with the version and the user if they are known. An error object may contain
    ///     other objects.
    ///   - headers: additional headers of the answer.
    func failed(_ failure: Failure, in context: RESTContext, headers: HTTPFields = [:]) -> FailedRequest {
        FailedRequest(failure: failure, headers: headers, context: context, errors: self)
    }

    /// Returns an answer with an error object. A 401 for a client always carries a fresh nonce; without one, stock
    /// clients do not sign in again (docs/conformance.md §3.5). A 401 for an app's own server carries none.
    fileprivate func answer(to failure: Failure, status: HTTPResponse.Status, in context: RESTContext) -> RESTAnswer {
        var failure = failure
        if failure.code == .authenticationRequired, !context.isServerRequest {
            failure.detail = .nonce(Nonce.issue(with: nonceKey).text)
        }
        if failure.code == .internalServerError {
            context.logger.error("unexpected error in a request", metadata: ["trace.id": "\(context.trace)"])
        }
        let renderer = context.renderer ?? renderer
        // A request can be refused before its version is known.
        let version = context.serverVersion ?? .v3
        if context.isServerRequest, context.user == nil || version < .v2 {
            let server = ServerRenderer(renderer, version: version, reader: context.user?.user)
            return .json(status) { server.writeFailure(failure, into: &$0) }
        }
        return .json(status) {
            renderer.writeFailure(failure, for: context.user?.user, version: context.version, into: &$0)
        }
    }
}
