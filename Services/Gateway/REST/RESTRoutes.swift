// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird

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

    func on(
        _ path: RouterPath, method: HTTPRequest.Method, access: RESTAccess,
        use handler: @escaping @Sendable (Request, RESTContext) async throws -> Response
    ) {
        let text = "\(path)".map { $0 == "{" ? ":" : String($0) }.joined().filter { $0 != "}" }
        served.append(ServedRoute(method: method.rawValue, path: text, access: access))
        router.on(path, method: method, use: handler)
    }
}
