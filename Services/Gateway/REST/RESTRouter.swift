// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import NetKit
import ServiceKit
import StrataModel
import StrataWire

/// The router of the public protocol's REST API: all paths, and the steps that their requests share
/// (docs/conformance.md §1).
///
/// A request passes these steps, in this order:
/// 1. ``LongRequests``, which leave their connection's event loop, and ``MethodOverride``, because the router chooses a
///    route by the method;
/// 2. ``MetricsMiddleware``, which counts every answer as it leaves;
/// 3. ``HeadMiddleware``, which removes the body of every answer to `HEAD`, including refusals;
/// 4. ``CORSMiddleware``, so that a page may read every answer, including refusals;
/// 5. ``ErrorMiddleware``, which turns the failures of all later steps into answers;
/// 6. ``RateLimitMiddleware``, before any work is done for the request;
/// 7. ``PreflightMiddleware``, which answers `OPTIONS`;
/// 8. ``VersionMiddleware``, for routes that require a version;
/// 9. ``SessionMiddleware``, for routes that require a session, after the version, which determines how a refusal is
///    written. Below `/apps`, ``ServerTokenMiddleware``, ``ServerVersionMiddleware`` and either ``OnBehalfMiddleware``
///    or ``SystemRendererMiddleware`` replace steps 8 and 9;
/// 10. ``AnswerLimitMiddleware``, which makes users take turns and therefore needs to know the user;
/// 11. ``InputLimitMiddleware``;
/// 12. ``IdempotencyMiddleware``, for routes that require a session, which reads the body;
/// 13. the route's ``RESTRequest`` and its handler.
///
/// ``RESTRoutes`` combines steps 2 to 12. Requests for unknown paths pass steps 2 to 7.
struct RESTRouter: Sendable {
    private let services: GatewayServices
    private let nonceKey: Nonce.Key

    init(services: GatewayServices, nonceKey: Nonce.Key) {
        self.services = services
        self.nonceKey = nonceKey
    }

    func responder() -> LongRequests<MethodOverride<RouterResponder<RESTContext>>> {
        LongRequests(inner: MethodOverride(inner: routes().router.buildResponder()))
    }

    func routes() -> RESTRoutes {
        let routes = RESTRoutes(services, errors: ErrorObjects(services.renderer, nonceKey: nonceKey))
        let features: [any RESTFeature] = [
            RootRoutes(services: services), SessionRoutes(services: services, nonceKey: nonceKey),
            ConversationRoutes(services: services),
            MessageRoutes(services: services), PartRoutes(services: services), FollowingRoutes(services: services),
            AnnouncementRoutes(services: services), DeviceRoutes(services: services), DocsRoutes(services: services),
            ContentRoutes(services: services), ServerConversationRoutes(services: services),
            ServerMessageRoutes(services: services),
            ServerPartRoutes(services: services), ServerContentRoutes(services: services),
            IndexRoutes(services: services),
            WebhookRoutes(services: services), UserRoutes(services: services),
            ServerAnnouncementRoutes(services: services),
            BlockRoutes(services: services), ServerBlockRoutes(services: services),
        ]
        for feature in features { feature.add(to: routes) }
        routes.addFallbacks()
        return routes
    }
}

protocol RESTFeature {
    var services: GatewayServices { get }
    /// Adds the feature's routes, grouped by their requirements.
    func add(to routes: RESTRoutes)
}

extension RESTFeature {
    /// Returns the renderer of the answer's objects, with URLs that are valid for the sender of the request.
    func renderer(for context: some RESTRouteContext) -> Renderer { context.request.renderer ?? services.renderer }

    /// Returns the renderer of the answer's objects for an app's own server that asks in its own name.
    func renderer(of context: ServerContext) -> ServerRenderer {
        ServerRenderer(renderer(for: context), version: context.version)
    }

    /// Returns the renderer for a request on behalf of a user in a version that the Client API does not have; nil for
    /// other versions.
    func olderRenderer(for context: SignedInContext) -> ServerRenderer? {
        guard let version = context.request.serverVersion, version < .v2 else { return nil }
        return ServerRenderer(renderer(for: context), version: version, reader: context.reader)
    }

    /// Returns the headers of a page: the length of the whole list, and the link to the next page, if any.
    /// - Parameters:
    ///   - list: the list's path.
    ///   - query: the query of the request for this page.
    func headers<Objects>(
        of page: ListPage<Objects>, in context: some RESTRouteContext, list: String, query: String?
    ) -> HTTPFields {
        var headers: HTTPFields = [:]
        if let total = page.total { headers[.layerCount] = String(total) }
        if let id = page.nextFrom {
            headers[.link] = renderer(for: context).nextPage(ofList: list, query: query, after: id)
        }
        return headers
    }
}

/// A responder that runs requests in the concurrency pool if they or their answers can be long. Others run on their
/// connection's event loop, where the loop's other connections wait for them.
struct LongRequests<Inner: HTTPResponder>: HTTPResponder where Inner.Context == RESTContext {
    let inner: Inner

    @concurrent
    func respond(to request: Request, context: RESTContext) async throws -> Response {
        if isShort(request) { return try await inner.respond(to: request, context: context) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await inner.respond(to: request, context: context)
        }
    }

    /// Returns true for a patch, a deletion, a message, or a receipt, if its body is short. The answers to reads and to
    /// other creates can be long.
    private func isShort(_ request: Request) -> Bool {
        let hasShortAnswer =
            switch request.method {
            case .patch, .delete: true
            case .post: ["/messages", "/receipts"].contains { request.uri.path.hasSuffix($0) }
            default: false
            }
        return hasShortAnswer && request.headers[.transferEncoding] == nil
            && request.headers[.contentLength].map { Int($0) ?? .max } ?? 0 <= EventLoopExecutor.requestBytes
    }
}

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
