// SPDX-License-Identifier: Apache-2.0
import FanOut
import Foundation
import Hummingbird
import Logging
import NIOCore
import RPC
import StrataModel
import StrataWire

/// What middlewares and routes know of one request.
struct RESTContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Of the whole request, across all services.
    let trace: TraceID
    let channel: any Channel
    /// The protocol version asked for, as ``VersionMiddleware`` or ``ServerVersionMiddleware`` found it.
    var version = WireVersion.v3
    /// Whose request it is, as ``SessionMiddleware`` or ``OnBehalfMiddleware`` found it.
    var user: UserKey?
    /// An app's own server asks, or tries to.
    var isServerRequest = false
    /// The app whose own server sent it, as ``ServerTokenMiddleware`` found it.
    var server: ServerCaller?
    /// The version of the Server API that it speaks, as ``ServerVersionMiddleware`` found it.
    var serverVersion: ServerVersion?
    /// What writes objects for its sender; nil: it finds them where all clients do.
    var renderer: Renderer?
    /// What its answer holds, from what services answered to the last byte, since ``AnswerLimitMiddleware``.
    var answer: AnswerBudget.Lease?
    /// Whose turn it is, since ``AnswerLimitMiddleware``.
    var longAnswers: LongAnswers?
    /// The memory that its parsed body takes, since ``InputLimitMiddleware``; nil: it is a `GET`.
    var input: InputBudget.Share?
    /// The name that the client gave what it changes, as ``NamedChangeMiddleware`` found it.
    var mutation: Mutation?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        trace = .random()
        channel = source.channel
    }

    /// Waits until it is the user's turn, if the request has one and users take turns.
    func turn(patience: Duration?) async throws(Failure) -> LongAnswers.Turn? {
        guard let user, let longAnswers else { return nil }
        return try await longAnswers.turn(of: user, patience: patience)
    }

    /// The type of a JSON answer. Stock clients parse a body only if the type begins with exactly this (docs/conformance.md §1.5); apps' own servers are told the
    /// encoding, too.
    var jsonType: String { isServerRequest ? "application/json; charset=UTF-8" : "application/json" }

    /// Services have answered the request, or a piece of it, with so much.
    func gave(_ bytes: Int) {
        if let user { longAnswers?.gave(bytes, to: user) }
    }

    /// The id of an object in the path.
    /// - Throws: `not_found`, since nothing can have such an id.
    func id<ID: ObjectID>(_ name: String, _: ID.Type = ID.self, what: String) throws(Failure) -> ID {
        guard let text = coreContext.parameters.get(name), let id = ID(parsing: text.removingPercentEncoding ?? text) else {
            throw .notFound(what)
        }
        return id
    }

    /// Returns the id of a message in the path.
    /// - Throws: for an id that is malformed, `invalid_request` to an app's own server, and `not_found` to a client.
    func messageID(_ name: String) throws(Failure) -> MessageID {
        do throws(Failure) {
            return try id(name, what: "message")
        } catch {
            throw isServerRequest ? Failure(.invalidRequest, "The id of the message must be a UUID.") : error
        }
    }

    /// Checks the id behind `/messages/` in the path, if the route has one that is not below a conversation.
    /// - Throws: what ``messageID(_:)`` throws.
    func checkMessageID() throws(Failure) {
        if endpointPath?.contains("/messages/{id}") == true { _ = try messageID("id") }
    }
}

/// The same for routes that need to know whose request it is.
struct SignedInContext: ChildRequestContext {
    private(set) var request: RESTContext
    /// Whose request it is.
    let user: UserKey

    /// - Throws: an error if no middleware before the route finds the user out.
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

    /// A call to a service on behalf of the request's user.
    var call: GatewayServices.Call {
        var call = GatewayServices.Call(user, trace: request.trace, answers: request.answer)
        call.mutation = request.mutation
        call.isByServer = request.isServerRequest
        return call
    }
}

/// The same for routes of an app's own server.
struct ServerContext: ChildRequestContext {
    private(set) var request: RESTContext
    let server: ServerCaller
    /// In which version of the Server API.
    let version: ServerVersion

    /// - Throws: an error if no middleware before the route finds these out.
    init(context: RESTContext) throws {
        guard let server = context.server, let version = context.serverVersion else { throw HTTPError(.internalServerError) }
        request = context
        self.server = server
        self.version = version
    }

    var coreContext: CoreRequestContextStorage {
        get { request.coreContext }
        set { request.coreContext = newValue }
    }

    /// The app in whose name the server asks.
    var app: AppID { server.app }

    /// The name that the server gave what it changes.
    var mutation: Mutation? { request.mutation }

    /// A call to a service by the app's own server, for no user.
    var call: GatewayServices.Call { namedCall(for: UserKey(app: app, user: .appServer)) }

    /// A call under the name of the change.
    /// - Parameter key: whose the change and its name are.
    func namedCall(for key: UserKey) -> GatewayServices.Call {
        var call = GatewayServices.Call(key, trace: request.trace, answers: request.answer)
        call.mutation = request.mutation
        call.isByServer = true
        return call
    }
}

/// What a context of any kind has.
protocol RESTRouteContext: RequestContext, Sendable {
    var request: RESTContext { get }
}

extension RESTContext: RESTRouteContext {
    var request: RESTContext { self }
}

extension SignedInContext: RESTRouteContext {}

extension ServerContext: RESTRouteContext {}
