// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import ServiceKit
import StrataModel
import StrataWire

/// The REST half of the public protocol: which paths there are, and what all of them have in common (docs/conformance.md §1).
///
/// A request meets, in this order:
/// 1. ``MethodOverride``, because the router chooses a route by the method;
/// 2. ``MetricsMiddleware``, which counts every answer as it leaves;
/// 3. ``HeadMiddleware``, which takes the body off every answer to `HEAD`, refusals too;
/// 4. ``CORSMiddleware``, so that a page may read every answer, refusals too;
/// 5. ``ErrorMiddleware``, which makes answers of the failures of all that follows;
/// 6. ``RateLimitMiddleware``, before any work is done for the request;
/// 7. ``PreflightMiddleware``, which ends the way of `OPTIONS`;
/// 8. where a route needs a version, ``VersionMiddleware``;
/// 9. where it needs a session, ``SessionMiddleware``, whose lookup knows the version that a refusal is written in; below `/apps`, where apps' own
///    servers ask, ``ServerTokenMiddleware``, ``ServerVersionMiddleware`` and ``OnBehalfMiddleware`` or ``SystemRendererMiddleware`` in place of 8 and 9;
/// 10. ``AnswerLimitMiddleware``, which makes the user wait for their turn: it has to know who that is;
/// 11. ``InputLimitMiddleware``;
/// 12. where it needs a session, ``NamedChangeMiddleware``, which reads the body;
/// 13. the route's ``RESTRequest``, and its handler.
///
/// ``RESTRoutes`` puts 2 to 12 together. Paths that nothing is served under go through 2 to 7.
struct RESTRouter: Sendable {
    private let services: GatewayServices
    private let nonceKey: Nonce.Key

    init(services: GatewayServices, nonceKey: Nonce.Key) {
        self.services = services
        self.nonceKey = nonceKey
    }

    /// What answers requests.
    func responder() -> MethodOverride<RouterResponder<RESTContext>> { MethodOverride(inner: routes().router.buildResponder()) }

    /// All that is served, registered anew.
    func routes() -> RESTRoutes {
        let routes = RESTRoutes(services, errors: ErrorObjects(services.renderer, nonceKey: nonceKey))
        let features: [any RESTFeature] = [
            RootRoutes(services: services), SessionRoutes(services: services, nonceKey: nonceKey), ConversationRoutes(services: services),
            MessageRoutes(services: services), PartRoutes(services: services), FollowingRoutes(services: services),
            AnnouncementRoutes(services: services), DeviceRoutes(services: services), DocsRoutes(services: services),
            ContentRoutes(services: services), ServerConversationRoutes(services: services), ServerMessageRoutes(services: services),
            ServerPartRoutes(services: services), ServerContentRoutes(services: services), IndexRoutes(services: services),
            WebhookRoutes(services: services), UserRoutes(services: services), ServerAnnouncementRoutes(services: services),
            BlockRoutes(services: services), ServerBlockRoutes(services: services),
        ]
        for feature in features { feature.add(to: routes) }
        routes.refuseTheRest()
        return routes
    }
}

protocol RESTFeature {
    var services: GatewayServices { get }
    /// Adds its routes, in groups by what they need.
    func add(to routes: RESTRoutes)
}

extension RESTFeature {
    /// What writes the objects of an answer, with the URLs at which the sender of the request finds them.
    func renderer(for context: some RESTRouteContext) -> Renderer { context.request.renderer ?? services.renderer }

    /// What writes the objects of an answer to an app's own server that asks in its own name.
    func renderer(of context: ServerContext) -> ServerRenderer { ServerRenderer(renderer(for: context), version: context.version) }

    /// What writes the objects of an answer on behalf of a user in a version that the Client API does not have; nil: it has the request's version.
    func olderRenderer(for context: SignedInContext) -> ServerRenderer? {
        guard let version = context.request.serverVersion, version < .v2 else { return nil }
        return ServerRenderer(renderer(for: context), version: version, reader: context.reader)
    }

    /// What the headers of a page say: how long the whole list is, and where the next page is, if there is one.
    /// - Parameters:
    ///   - list: the list's path.
    ///   - query: with which this page was asked for.
    func headers<Objects>(of page: ListPage<Objects>, in context: some RESTRouteContext, list: String, query: String?) -> HTTPFields {
        var headers: HTTPFields = [:]
        if let total = page.total { headers[.layerCount] = String(total) }
        if let id = page.nextFrom { headers[.link] = renderer(for: context).nextPage(ofList: list, query: query, after: id) }
        return headers
    }
}
