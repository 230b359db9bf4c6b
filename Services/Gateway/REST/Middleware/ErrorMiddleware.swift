// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import Logging
import ServiceKit
import StrataModel
import StrataWire

/// Answers what was thrown behind it with error objects (docs/conformance.md §1.11), so that what stands before it sees answers only.
struct ErrorMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as FailedRequest {
            return error.response
        } catch let error as any HTTPResponseError {
            // The router's own, which knows nothing of error objects.
            return errors.failed(Self.failure(error.status), in: context).response
        }
    }

    private static func failure(_ status: HTTPResponse.Status) -> Failure {
        status == .notFound
            ? Failure(.invalidEndpoint, "There is no such method and path.")
            : Failure(.invalidRequest, "The request could not be understood (\(status.code)).")
    }
}

/// A failure, on its way from where it happened to ``ErrorMiddleware``, with what was known of the request by then.
struct FailedRequest: HTTPResponseError {
    let failure: Failure
    fileprivate var headers: HTTPFields
    fileprivate let context: RESTContext
    fileprivate let errors: ErrorObjects

    var status: HTTPResponse.Status { RequestBody.status(of: failure) }

    var response: Response {
        var response = errors.answer(to: failure, status: status, in: context).response(context)
        for field in headers { response.headers[field.name] = field.value }
        if response.status == .serviceUnavailable, response.headers[.retryAfter] == nil { response.headers[.retryAfter] = "1" }
        return response
    }

    func response(from request: Request, context: some RequestContext) -> Response { response }
}

final class ErrorObjects: Sendable {
    private let renderer: Renderer
    private let nonceKey: Nonce.Key

    /// - Parameter nonceKey: what nonces are made with.
    init(_ renderer: Renderer, nonceKey: Nonce.Key) {
        self.renderer = renderer
        self.nonceKey = nonceKey
    }

    /// What to throw when a request fails.
    /// - Parameters:
    ///   - context: with the version and the user, if they are known: an error object may hold other objects.
    ///   - headers: of the answer, besides those that all have.
    func failed(_ failure: Failure, in context: RESTContext, headers: HTTPFields = [:]) -> FailedRequest {
        FailedRequest(failure: failure, headers: headers, context: context, errors: self)
    }

    /// To a client, a 401 always carries a fresh nonce: without one, stock clients do not sign in again (docs/conformance.md §3.5). An app's own server
    /// has no use for a nonce.
    fileprivate func answer(to failure: Failure, status: HTTPResponse.Status, in context: RESTContext) -> RESTAnswer {
        var failure = failure
        if failure.code == .authenticationRequired, !context.isServerRequest { failure.detail = .nonce(Nonce.issue(with: nonceKey).text) }
        if failure.code == .internalServerError {
            context.logger.error("a request failed unexpectedly", metadata: ["trace.id": "\(context.trace)"])
        }
        let renderer = context.renderer ?? renderer
        // A refusal may come before the version is known.
        let version = context.serverVersion ?? .v3
        if context.isServerRequest, context.user == nil || version < .v2 {
            let server = ServerRenderer(renderer, version: version, reader: context.user?.user)
            return .json(status) { server.writeFailure(failure, into: &$0) }
        }
        return .json(status) { renderer.writeFailure(failure, for: context.user?.user, version: context.version, into: &$0) }
    }
}
