// SPDX-License-Identifier: Apache-2.0
public import Hummingbird
import Synchronization

/// The routes that a service adds to its admin port.
public final class AdminRoutes: Sendable {
    /// A handler of requests.
    public typealias Handler = @Sendable (Request) async throws -> Response

    private let routes = Mutex<[(path: String, handler: Handler)]>([])

    /// Creates an instance without routes.
    public init() {}

    /// Adds a `GET` route. The port requires no credentials, so a handler must check those of its own.
    public func get(_ path: String, handler: @escaping Handler) {
        routes.withLock { $0.append((path, handler)) }
    }

    func add(to router: Router<BasicRequestContext>) {
        for (path, handler) in routes.withLock({ $0 }) {
            router.get(RouterPath(path)) { request, _ in try await handler(request) }
        }
    }
}
