// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import Hummingbird
import Logging
import NIOCore
import RPC
import StrataModel
import StrataWire

/// The context of one request, filled in by middlewares for later middlewares and routes.
struct RESTContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let trace: TraceID
    let channel: any Channel
    /// The requested protocol version, from ``VersionMiddleware`` or ``ServerVersionMiddleware``.
    var version = WireVersion.v3
    /// The requesting user, from ``SessionMiddleware`` or ``OnBehalfMiddleware``.
    var user: UserKey?
    /// True if an app's own server sent the request, authenticated or not.
    var isServerRequest = false
    /// The app whose own server sent the request, from ``ServerTokenMiddleware``.
    var server: ServerCaller?
    /// The version of the Server API, from ``ServerVersionMiddleware``.
    var serverVersion: ServerVersion?
    /// The renderer with the sender's URLs; nil for the clients' URLs.
    var renderer: Renderer?
    /// The memory held by the answer, from the services' responses to the last byte sent. Set by
    /// ``AnswerLimitMiddleware``.
    var answer: AnswerBudget.Lease?
    /// The queue in which users take turns. Set by ``AnswerLimitMiddleware``.
    var longAnswers: LongAnswers?
    /// The memory held by the parsed body. Set by ``InputLimitMiddleware``; nil for a `GET`.
    var input: InputBudget.Share?
    /// The idempotency key, from ``IdempotencyMiddleware``.
    var idempotencyKey: IdempotencyKey?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        trace = .random()
        channel = source.channel
    }

    /// Waits for the user's turn. Returns nil if the request has no user or users take no turns.
    func turn(patience: Duration?) async throws(Failure) -> LongAnswers.Turn? {
        guard let user, let longAnswers else { return nil }
        return try await longAnswers.turn(of: user, patience: patience)
    }

    /// The type of a JSON answer. Stock clients parse a body only if the type begins with exactly this
    /// (docs/conformance.md §1.5). Apps' own servers are also sent the encoding.
    var jsonType: String { isServerRequest ? "application/json; charset=UTF-8" : "application/json" }

    /// Records bytes with which services answered the request, or a piece of it.
    func recordBytes(_ bytes: Int) {
        if let user { longAnswers?.recordBytes(bytes, for: user) }
    }

    /// Returns the id of an object in the path.
    /// - Throws: `not_found` for a text that is not a valid id.
    func id<ID: ObjectID>(_ name: String, _: ID.Type = ID.self, what: String) throws(Failure) -> ID {
        guard let text = coreContext.parameters.get(name),
            let id = ID(parsing: text) ?? text.removingPercentEncoding.flatMap({ ID(parsing: $0) })
        else {
            throw .notFound(what)
        }
        return id
    }

    /// Returns the id of a message in the path.
    /// - Throws: for a malformed id, `invalid_request` to an app's own server, and `not_found` to a client.
    func messageID(_ name: String) throws(Failure) -> MessageID {
        do throws(Failure) {
            return try id(name, what: "message")
        } catch {
            throw isServerRequest ? Failure(.invalidRequest, "The id of the message must be a UUID.") : error
        }
    }

    /// Checks the id after `/messages/` in the path, if the route has one that is not below a conversation.
    /// - Throws: the errors of ``messageID(_:)``.
    func checkMessageID() throws(Failure) {
        if endpointPath?.contains("/messages/{id}") == true { _ = try messageID("id") }
    }
}

/// The context of a route that requires a user.
struct SignedInContext: ChildRequestContext {
    private(set) var request: RESTContext
    let user: UserKey

    /// - Throws: an error if no earlier middleware set the user.
    init(context: RESTContext) throws {
        guard let user = context.user else { throw HTTPError(.internalServerError) }
        request = context
        self.user = user
    }

    var coreContext: CoreRequestContextStorage {
        get { request.coreContext }
        set { request.coreContext = newValue }
    }

    var version: WireVersion { request.version }
    var reader: UserID { user.user }

    var call: GatewayServices.Call {
        var call = GatewayServices.Call(user, trace: request.trace, answers: request.answer)
        call.idempotencyKey = request.idempotencyKey
        call.isByServer = request.isServerRequest
        return call
    }
}

/// The context of a route for an app's own server.
struct ServerContext: ChildRequestContext {
    private(set) var request: RESTContext
    let server: ServerCaller
    let version: ServerVersion

    /// - Throws: an error if no earlier middleware set the caller and the version.
    init(context: RESTContext) throws {
        guard let server = context.server, let version = context.serverVersion else {
            throw HTTPError(.internalServerError)
        }
        request = context
        self.server = server
        self.version = version
    }

    var coreContext: CoreRequestContextStorage {
        get { request.coreContext }
        set { request.coreContext = newValue }
    }

    var app: AppID { server.app }

    var idempotencyKey: IdempotencyKey? { request.idempotencyKey }

    /// A call to a service by the app's own server, for no user.
    var call: GatewayServices.Call { namedCall(for: UserKey(app: app, user: .appServer)) }

    /// Returns a call with the idempotency key of the change.
    /// - Parameter key: the user to whom the change and its key belong.
    func namedCall(for key: UserKey) -> GatewayServices.Call {
        var call = GatewayServices.Call(key, trace: request.trace, answers: request.answer)
        call.idempotencyKey = request.idempotencyKey
        call.isByServer = true
        return call
    }
}

protocol RESTRouteContext: RequestContext, Sendable {
    var request: RESTContext { get }
}

extension RESTContext: RESTRouteContext {
    var request: RESTContext { self }
}

extension SignedInContext: RESTRouteContext {}

extension ServerContext: RESTRouteContext {}
