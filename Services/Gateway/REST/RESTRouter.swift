// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import Model
import NIOCore
import ServiceKit
import Wire

/// The REST half of the public protocol: which paths there are, and what every one of them has in common (spec 1).
struct RESTRouter: Sendable {
    typealias Handler = @Sendable (Request, RESTContext) async throws(Failure) -> RESTAnswer

    let services: GatewayServices
    let nonceKey: Nonce.Key

    /// Bytes of a request's body that are read at most.
    static let bodyBytes = 1 << 20

    /// The whole responder: routing within what ``EdgeResponder`` does for every request.
    func responder() -> EdgeResponder<RouterResponder<RESTContext>> {
        EdgeResponder(inner: routes().router.buildResponder(), services: services)
    }

    /// All that is served, registered anew.
    func routes() -> RESTRoutes {
        let router = RESTRoutes()
        registerRoot(on: router)
        registerSessions(on: router)
        registerConversations(on: router)
        registerMessages(on: router)
        registerParts(on: router)
        registerFollowing(on: router)
        registerAnnouncements(on: router)
        registerDevices(on: router)
        registerDocs(on: router)
        registerContent(on: router)
        return router
    }

    /// Adds a route whose failures become error objects.
    func on(_ router: RESTRoutes, _ method: HTTPRequest.Method, _ path: RouterPath, _ access: RESTAccess, _ handler: @escaping Handler) {
        router.on(path, method: method, access: access) { request, context in
            var context = context
            // Who changes something has to hear what came of it.
            let lease = AnswerBudget.Lease(services.answers, isRefusable: request.method == .get)
            context.lease = lease
            do throws(Failure) {
                try await prepare(request, &context, access)
                context.longAnswers = services.longAnswers
                // A request that only reads can wait.
                let turn = request.method == .get ? try await context.turn(patience: LongAnswers.patience) : nil
                defer {
                    turn?.end()
                    context.gave(lease.takeAnswered())
                }
                return try await RPCAnswers.$account
                    .withValue(lease) { [context] in
                        await withBudget(request) { await result { () throws(Failure) in try await handler(request, context).response(context) } }
                    }
                    .get()
            } catch {
                return response(to: error, context)
            }
        }
    }

    /// A request with a body has to have room for it.
    private func withBudget<T>(_ request: Request, _ body: () async -> T) async -> T {
        guard request.method != .get else { return await body() }
        return await BodyBudget.$current.withValue(BodyBudget.Lease(services.bodies)) { await body() }
    }

    /// What a closure that can only throw anything cannot say.
    private func result(_ body: () async throws(Failure) -> Response) async -> Result<Response, Failure> {
        do throws(Failure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func prepare(_ request: Request, _ context: inout RESTContext, _ access: RESTAccess) async throws(Failure) {
        if access == .open { return }
        guard let version = request.headers[.accept].flatMap({ WireVersion(accept: $0) }) else {
            throw Failure(
                .invalidHeader, "The Accept header must be application/vnd.layer+json; version=3.0 (or 2.0).", detail: .header("Accept"))
        }
        context.version = version
        guard access == .signedIn else { return }
        context.session = try await session(of: request, context)
    }

    /// - Throws: `authentication_required` without a nonce; ``response(to:_:)`` adds one.
    func session(of request: Request, _ context: RESTContext) async throws(Failure) -> Session {
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else {
            throw Failure(.authenticationRequired, "Please sign in.")
        }
        return try await services.sessions.session(for: token, trace: context.trace)
    }

    /// The error object of spec 1.11. A 401 always carries a fresh nonce: without one, stock clients do not sign in again (spec 3.5).
    func response(to failure: Failure, _ context: RESTContext) -> Response {
        var failure = failure
        if failure.code == .authenticationRequired { failure.detail = .nonce(Nonce.issue(with: nonceKey).text) }
        if failure.code == .internalServerError {
            context.logger.error("a request failed unexpectedly", metadata: ["trace": "\(context.trace)"])
        }
        return
            RESTAnswer.json(RequestBody.status(of: failure)) { writer in
                services.renderer.write(failure, for: context.session?.key.user, version: context.version, into: &writer)
            }
            .response(context)
    }

    // MARK: Bodies

    /// The body as JSON.
    /// - Throws: `invalid_request` if it is too large, compressed, or no JSON.
    func json(_ request: Request) async throws(Failure) -> JSONValue {
        let body = try await collect(request)
        guard body.readableBytes > 0 else { throw Failure(.invalidRequest, "The request needs a body.") }
        return try JSONReader.body(body)
    }

    /// The same where a body may be absent.
    func optionalJSON(_ request: Request) async throws(Failure) -> JSONValue? {
        let body = try await collect(request)
        return body.readableBytes == 0 ? nil : try JSONReader.body(body)
    }

    private func collect(_ request: Request) async throws(Failure) -> ByteBuffer {
        try RequestBody.check(request.headers)
        // Without a length it may become as long as any.
        let length = request.headers[.contentLength].flatMap { Int($0) } ?? Self.bodyBytes
        guard BodyBudget.current?.take(min(max(length, 0), Self.bodyBytes)) ?? true else { throw .unavailable }
        do {
            return try await request.body.collect(upTo: Self.bodyBytes)
        } catch is NIOTooManyBytesError {
            throw RequestBody.tooLarge
        } catch {
            throw Failure(.invalidRequest, "The body could not be read.")
        }
    }

    /// A decoded query parameter.
    static func parameter(_ request: Request) -> (String) -> String? {
        { name in request.uri.queryParameters.get(name) }
    }
}
