// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel

/// A method and a path that a gateway answers, as it was registered.
package struct ServedRoute: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// `GET`, `HEAD`, …
    package let method: String
    /// With a name behind a colon for each part that varies: `/conversations/:id`.
    package let path: String
    /// What a request needs before its handler runs.
    package let access: RESTAccess

    package var description: String { "\(method) \(path)" }

    package static func < (left: Self, right: Self) -> Bool { (left.path, left.method) < (right.path, right.method) }
}

/// What a request needs before its handler runs.
package enum RESTAccess: String, Sendable {
    /// Nothing: discovery, the connectivity probe, and URLs that are secret themselves.
    case open
    /// A version in `Accept`.
    case versioned
    /// A version, and a session.
    case signedIn
    /// A token of the app's own server, and a version; with a user in the path also that the app knows them.
    case server
}

/// The only way to add a route: whatever is served is on the list, so that tests can go through all of it.
final class RESTRoutes {
    let router = Router(context: RESTContext.self)
    /// What is served to clients, in the order in which it was added.
    private(set) var served: [ServedRoute] = []
    /// What is served to apps' own servers, below `/apps/:app`.
    private(set) var servedToServers: [ServedRoute] = []
    private let services: GatewayServices
    private let errors: ErrorObjects

    init(_ services: GatewayServices, errors: ErrorObjects) {
        self.services = services
        self.errors = errors
        router.add(middleware: beforeEveryRoute)
    }

    /// - Returns: the route as it is on the list.
    private func note(_ method: HTTPRequest.Method, _ path: RouterPath, access: RESTAccess) -> ServedRoute {
        let text = "\(path)".map { $0 == "{" ? ":" : String($0) }.joined().filter { $0 != "}" }
        let route = ServedRoute(method: method.rawValue, path: text, access: access)
        if access == .server { servedToServers.append(route) } else { served.append(route) }
        return route
    }

    // MARK: Middlewares, see RESTRouter for their order

    /// In front of what is served and what is not.
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
        NamedChangeMiddleware(errors: errors)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeServerRoutes: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
    }

    /// For what a server asks in its own name.
    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeSystemRoutes: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
        SystemRendererMiddleware(renderer: services.renderer)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
        NamedChangeMiddleware(errors: errors)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeRoutesOnBehalf: some RouterMiddleware<RESTContext> {
        ServerTokenMiddleware(tokens: services.serverTokens, limiter: services.limiter, errors: errors)
        ServerVersionMiddleware(errors: errors)
        OnBehalfMiddleware(services: services, errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        InputLimitMiddleware(input: services.input, limiter: services.limiter)
        NamedChangeMiddleware(errors: errors)
    }

    // MARK: Groups

    /// Routes that need nothing.
    func open(_ path: RouterPath) -> Group<RESTContext> {
        Group(routes: self, mounts: [Mount(access: .open, path: path, group: router.group(path).add(middleware: beforeOpenRoutes))])
    }

    /// Routes that need a version.
    func versioned(_ path: RouterPath) -> Group<RESTContext> {
        Group(routes: self, mounts: [Mount(access: .versioned, path: path, group: router.group(path).add(middleware: beforeVersionedRoutes))])
    }

    /// Routes that need a version and a session. An app's own server finds them below the path of the user on whose behalf it asks, too.
    /// - Parameter isOnBehalf: false: it does not, since it has other routes there.
    func signedIn(_ path: RouterPath, isOnBehalf: Bool = true) -> Group<SignedInContext> {
        let group = router.group(path).add(middleware: beforeSignedInRoutes).group(context: SignedInContext.self)
        let mount = Mount(access: .signedIn, path: path, group: group)
        return Group(routes: self, mounts: isOnBehalf ? [mount, mountOnBehalf(path)] : [mount])
    }

    /// Routes that an app's own server uses in its own name, below `/apps/:app`. A user in such a path is called `:owner`, as in the paths on behalf of
    /// users; whether the app knows them is the route's business.
    func server(_ path: RouterPath) -> Group<ServerContext> {
        let path = RouterPath("/apps/:app").appendingPath(path)
        let group = router.group(path).add(middleware: beforeSystemRoutes).group(context: ServerContext.self)
        return Group(routes: self, mounts: [Mount(access: .server, path: path, group: group)])
    }

    /// Routes that an app's own server finds below the path of the user on whose behalf it asks.
    func onBehalf(_ path: RouterPath) -> Group<SignedInContext> { Group(routes: self, mounts: [mountOnBehalf(path)]) }

    private func mountOnBehalf(_ path: RouterPath) -> Mount<SignedInContext> {
        let below: RouterPath = "/apps/:app/users/:owner"
        let group = router.group(below.appendingPath(path)).add(middleware: beforeRoutesOnBehalf).group(context: SignedInContext.self)
        return Mount(access: .server, path: below.appendingPath(path), group: group)
    }

    /// Refuses what apps' own servers find nothing at, once all routes have been added: with the methods that the path has, if it has any. A caller
    /// without a right to ask hears that first.
    func refuseTheRest() {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]
        let errors = errors
        let served = Dictionary(grouping: servedToServers, by: \.path).mapValues { Set($0.map(\.method)) }
        for (path, names) in served.sorted(by: { $0.key < $1.key }) {
            let allowed = methods.map(\.rawValue).filter(names.contains).joined(separator: ", ")
            let group = router.group(RouterPath(path)).add(middleware: beforeServerRoutes)
            for method in methods where !names.contains(method.rawValue) {
                group.on("", method: method) { _, context -> Response in
                    throw errors.failed(
                        Failure(.methodNotAllowed, "This path has only \(allowed)."), in: context, headers: [.allow: allowed])
                }
            }
        }
        // The router goes to the rest only from where no path goes on: what the served paths begin with is named, too.
        let beginnings = Set(served.keys.flatMap(Self.beginnings)).subtracting(served.keys).sorted()
        for path in beginnings.map({ RouterPath($0) }) + ["/apps/:app/**"] {
            let group = router.group(path).add(middleware: beforeServerRoutes)
            for method in methods {
                group.on("", method: method) { _, context -> Response in
                    throw errors.failed(Failure(.invalidEndpoint, "There is no such path."), in: context)
                }
            }
        }
    }

    private static func beginnings(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (2...max(2, parts.count)).dropLast().map { "/" + parts.prefix($0).joined(separator: "/") }
    }

    /// Where the routes of a group are found, and what they need there.
    fileprivate struct Mount<Context: RESTRouteContext> {
        let access: RESTAccess
        let path: RouterPath
        let group: RouterGroup<Context>
    }

    /// Routes below one path that need the same.
    struct Group<Context: RESTRouteContext> {
        fileprivate let routes: RESTRoutes
        fileprivate let mounts: [Mount<Context>]

        /// Adds a route.
        /// - Parameter path: below the group's.
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
                            throw context.request.ofUnknownCursor(error)
                        }
                    } catch {
                        var told = error
                        if isInConversation { told = await services.inOrder(error, of: context.request) }
                        throw errors.failed(told, in: context.request)
                    }
                }
            }
        }

        /// Adds a route whose path says it all.
        func on(
            _ method: HTTPRequest.Method, _ path: RouterPath = "", use handler: @escaping @Sendable (Context) async throws(Failure) -> RESTAnswer
        ) {
            on(method, path) { (_: EmptyRequest, context) throws(Failure) in try await handler(context) }
        }
    }
}
