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
}

/// The only way to add a route: whatever is served is on the list, so that tests can go through all of it.
final class RESTRoutes {
    let router = Router(context: RESTContext.self)
    private(set) var served: [ServedRoute] = []
    private let services: GatewayServices
    private let errors: ErrorObjects

    init(_ services: GatewayServices, errors: ErrorObjects) {
        self.services = services
        self.errors = errors
        router.add(middleware: beforeEveryRoute)
    }

    // MARK: Middlewares, see RESTRouter for their order

    /// In front of what is served and what is not.
    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeEveryRoute: some RouterMiddleware<RESTContext> {
        MetricsMiddleware(metrics: services.metrics)
        HeadMiddleware()
        CORSMiddleware()
        ErrorMiddleware(errors: errors)
        RateLimitMiddleware(limiter: services.limiter, errors: errors)
        PreflightMiddleware()
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeOpenRoutes: some RouterMiddleware<RESTContext> {
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        BodyLimitMiddleware(bodies: services.bodies)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeVersionedRoutes: some RouterMiddleware<RESTContext> {
        VersionMiddleware(errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        BodyLimitMiddleware(bodies: services.bodies)
    }

    @MiddlewareFixedTypeBuilder<Request, Response, RESTContext>
    var beforeSignedInRoutes: some RouterMiddleware<RESTContext> {
        VersionMiddleware(errors: errors)
        SessionMiddleware(sessions: services.sessions, errors: errors)
        AnswerLimitMiddleware(answers: services.answers, longAnswers: services.longAnswers, errors: errors)
        BodyLimitMiddleware(bodies: services.bodies)
        NamedChangeMiddleware(errors: errors)
    }

    // MARK: Groups

    /// Routes that need nothing.
    func open(_ path: RouterPath) -> Group<RESTContext> {
        Group(routes: self, access: .open, path: path, group: router.group(path).add(middleware: beforeOpenRoutes))
    }

    /// Routes that need a version.
    func versioned(_ path: RouterPath) -> Group<RESTContext> {
        Group(routes: self, access: .versioned, path: path, group: router.group(path).add(middleware: beforeVersionedRoutes))
    }

    /// Routes that need a version and a session.
    func signedIn(_ path: RouterPath) -> Group<SignedInContext> {
        Group(
            routes: self, access: .signedIn, path: path,
            group: router.group(path).add(middleware: beforeSignedInRoutes).group(context: SignedInContext.self))
    }

    /// Routes below one path that need the same.
    struct Group<Context: RESTRouteContext> {
        fileprivate let routes: RESTRoutes
        fileprivate let access: RESTAccess
        fileprivate let path: RouterPath
        fileprivate let group: RouterGroup<Context>

        /// Adds a route.
        /// - Parameter path: below the group's.
        func on<Asked: RESTRequest>(
            _ method: HTTPRequest.Method, _ path: RouterPath = "",
            use handler: @escaping @Sendable (Asked, Context) async throws(Failure) -> RESTAnswer
        ) {
            let text = "\(self.path.appendingPath(path))".map { $0 == "{" ? ":" : String($0) }.joined().filter { $0 != "}" }
            routes.served.append(ServedRoute(method: method.rawValue, path: text, access: access))
            let (services, errors) = (routes.services, routes.errors)
            group.on(path, method: method) { request, context in
                do throws(Failure) {
                    let asked = try await Asked(request, in: context.request, for: services)
                    return try await handler(asked, context).response(context.request)
                } catch {
                    throw errors.failed(error, in: context.request)
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
