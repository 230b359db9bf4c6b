// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel

/// A method and a path that a gateway serves, as registered.
package struct ServedRoute: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let method: String
    /// The path. Each variable segment is a name after a colon, for example `/conversations/:id`.
    package let path: String
    package let access: RESTAccess

    package var description: String { "\(method) \(path)" }

    package static func < (left: Self, right: Self) -> Bool { (left.path, left.method) < (right.path, right.method) }
}

/// The requirements of a route, checked before its handler runs.
package enum RESTAccess: String, Sendable {
    /// No requirements. Used for discovery, the connectivity probe, and URLs that contain a secret.
    case open
    /// A protocol version in `Accept`.
    case versioned
    /// A protocol version and a session.
    case signedIn
    /// A token of the app's own server, and a version. A user in the path must be known to the app.
    case server
}

/// The registry of routes. Every route is added through it and listed, so that tests can cover all routes.
final class RESTRoutes {
    let router = Router(context: RESTContext.self)
    /// The routes for clients, in the order of registration.
    private(set) var served: [ServedRoute] = []
    /// The routes for apps' own servers, below `/apps/:app`.
    private(set) var servedToServers: [ServedRoute] = []
    private let services: GatewayServices
    private let errors: ErrorObjects

    init(_ services: GatewayServices, errors: ErrorObjects) {
        self.services = services
        self.errors = errors
        router.add(middleware: beforeEveryRoute)
    }

    private func note(_ method: HTTPRequest.Method, _ path: RouterPath, access: RESTAccess) -> ServedRoute {
        let text = "\(path)".map { $0 == "{" ? ":" : String($0) }.joined().filter { $0 != "}" }
        let route = ServedRoute(method: method.rawValue, path: text, access: access)
        if access == .server { servedToServers.append(route) } else { served.append(route) }
        return route
    }

    // MARK: Middlewares. RESTRouter documents their order.

    /// The middlewares of all requests, including those without a route.
    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeEveryRoute: some RouterMiddleware<RESTContext> {
        MetricsMiddleware(metrics: services.metrics)
        HeadMiddleware()
        CORSMiddleware()
        ErrorMiddleware(errors: errors)
        RateLimitMiddleware(limiter: services.limiter, serverTokens: services.serverTokens, errors: errors)
        PreflightMiddleware()
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeOpenRoutes: some RouterMiddleware<RESTContext> {
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeVersionedRoutes: some RouterMiddleware<RESTContext> {
        VersionMiddleware(errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeSignedInRoutes: some RouterMiddleware<RESTContext> {
        VersionMiddleware(errors: errors)
        SessionMiddleware(sessions: services.sessions, errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
        IdempotencyMiddleware(errors: errors)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeServerRoutes: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
    }

    /// The middlewares of requests that an app's own server sends in its own name.
    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeSystemRoutes: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
        SystemRendererMiddleware(renderer: services.renderer)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
        IdempotencyMiddleware(errors: errors)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeRoutesOnBehalf: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
        OnBehalfMiddleware(services: services, errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
        IdempotencyMiddleware(errors: errors)
    }

    // MARK: Groups

    /// Returns a group of routes without requirements.
    func open(_ path: RouterPath) -> Group<RESTContext> {
        Group(
            routes: self,
            mounts: [Mount(access: .open, path: path, group: router.group(path).add(middleware: beforeOpenRoutes))])
    }

    /// Returns a group of routes that require a version.
    func versioned(_ path: RouterPath) -> Group<RESTContext> {
        Group(
            routes: self,
            mounts: [
                Mount(access: .versioned, path: path, group: router.group(path).add(middleware: beforeVersionedRoutes))
            ])
    }

    /// Returns a group of routes that require a version and a session. An app's own server can also use them on behalf
    /// of a user, below that user's path.
    /// - Parameter isOnBehalf: false if the app's own server has other routes there.
    func signedIn(_ path: RouterPath, isOnBehalf: Bool = true) -> Group<SignedInContext> {
        let group = router.group(path).add(middleware: beforeSignedInRoutes).group(context: SignedInContext.self)
        let mount = Mount(access: .signedIn, path: path, group: group)
        return Group(routes: self, mounts: isOnBehalf ? [mount, mountOnBehalf(path)] : [mount])
    }

    /// Returns a group of routes that an app's own server uses in its own name, below `/apps/:app`. A user in such a
    /// path is named `:owner`, as in the paths on behalf of users. The route itself checks whether the app knows the
    /// user.
    func server(_ path: RouterPath) -> Group<ServerContext> {
        let path = RouterPath("/apps/:app").appendingPath(path)
        let group = router.group(path).add(middleware: beforeSystemRoutes).group(context: ServerContext.self)
        return Group(routes: self, mounts: [Mount(access: .server, path: path, group: group)])
    }

    /// Returns a group of routes that an app's own server uses on behalf of a user, below that user's path.
    func onBehalf(_ path: RouterPath) -> Group<SignedInContext> { Group(routes: self, mounts: [mountOnBehalf(path)]) }

    private func mountOnBehalf(_ path: RouterPath) -> Mount<SignedInContext> {
        let below: RouterPath = "/apps/:app/users/:owner"
        let group = router.group(below.appendingPath(path)).add(middleware: beforeRoutesOnBehalf)
            .group(context: SignedInContext.self)
        return Mount(access: .server, path: below.appendingPath(path), group: group)
    }

    /// Refuses all other requests of apps' own servers. Must be called after all routes have been added. A served path
    /// with another method is answered with the allowed methods, an unknown path with `invalid_endpoint`. A caller
    /// without a valid token is refused first.
    func addFallbacks() {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]
        let errors = errors
        let served = Dictionary(grouping: servedToServers, by: \.path).mapValues { Set($0.map(\.method)) }
        for (path, names) in served.sorted(by: { $0.key < $1.key }) {
            let allowed = methods.map(\.rawValue).filter(names.contains).joined(separator: ", ")
            let group = router.group(RouterPath(path)).add(middleware: beforeServerRoutes)
            for method in methods where !names.contains(method.rawValue) {
                group.on("", method: method) { _, context -> Response in
                    throw errors.failed(
                        Failure(.methodNotAllowed, "This path supports only \(allowed)."), in: context,
                        headers: [.allow: allowed])
                }
            }
        }
        // The router reaches the `**` route only where no registered path continues. So register the prefixes of the
        // served paths, too.
        let beginnings = Set(served.keys.flatMap(Self.beginnings)).subtracting(served.keys).sorted()
        for path in beginnings.map({ RouterPath($0) }) + ["/apps/:app/**"] {
            let group = router.group(path).add(middleware: beforeServerRoutes)
            for method in methods {
                group.on("", method: method) { _, context -> Response in
                    throw errors.failed(Failure(.invalidEndpoint, "The path is unknown."), in: context)
                }
            }
        }
    }

    private static func beginnings(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (2...max(2, parts.count)).dropLast().map { "/" + parts.prefix($0).joined(separator: "/") }
    }

    /// A path under which a group's routes are registered, with its requirements.
    fileprivate struct Mount<Context: RESTRouteContext> {
        let access: RESTAccess
        let path: RouterPath
        let group: RouterGroup<Context>
    }

    /// A group of routes below one path that have the same requirements.
    struct Group<Context: RESTRouteContext> {
        fileprivate let routes: RESTRoutes
        fileprivate let mounts: [Mount<Context>]

        /// Adds a route.
        /// - Parameter path: the path below the group's path.
        func on<Asked: RESTRequest>(
            _ method: HTTPRequest.Method, _ path: RouterPath = "",
            use handler: @escaping @Sendable (Asked, Context) async throws(Failure) -> RESTAnswer
        ) {
            let (services, errors) = (routes.services, routes.errors)
            for mount in mounts {
                let route = routes.note(method, mount.path.appendingPath(path), access: mount.access)
                let isInConversation = route.isInConversationOfServer
                mount.group.on(path, method: method) { request, context in
                    do throws(Failure) {
                        let asked = try await Asked(request, in: context.request, for: services)
                        do throws(Failure) {
                            return try await handler(asked, context).response(context.request)
                        } catch {
                            throw context.request.mapUnknownCursor(error)
                        }
                    } catch {
                        var refusal = error
                        if isInConversation { refusal = await services.preferNotFound(error, of: context.request) }
                        throw errors.failed(refusal, in: context.request)
                    }
                }
            }
        }

        /// Adds a route that takes its input from the path only.
        func on(
            _ method: HTTPRequest.Method, _ path: RouterPath = "",
            use handler: @escaping @Sendable (Context) async throws(Failure) -> RESTAnswer
        ) {
            on(method, path) { (_: EmptyRequest, context) throws(Failure) in try await handler(context) }
        }
    }
}
