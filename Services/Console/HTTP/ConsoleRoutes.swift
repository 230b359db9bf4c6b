// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Logging

/// The registry of routes. Every route is added through it, so that none lacks its checks.
///
/// A request passes these steps, in this order:
/// 1. ``SecurityHeaders``, which every answer has;
/// 2. ``ErrorMiddleware``, which answers the errors of later steps;
/// 3. ``AddressMiddleware``;
/// 4. ``SessionMiddleware``, for all routes but the pages and the sign-in;
/// 5. ``CSRFMiddleware``, for routes that are not `GET`;
/// 6. ``RoleMiddleware``, for changes and traces;
/// 7. ``AuditLog``, for the same routes.
struct ConsoleRoutes {
    let router = Router(context: ConsoleContext.self)
    private let accounts: Accounts
    let audit: AuditLog

    init(accounts: Accounts, audit: AuditLog, trustedProxies: Int, logger: Logger) {
        self.accounts = accounts
        self.audit = audit
        router.addMiddleware {
            SecurityHeaders()
            ErrorMiddleware(logger: logger)
            AddressMiddleware(trustedProxies: trustedProxies)
        }
    }

    /// Adds a route that requires no session.
    func open(
        _ method: HTTPRequest.Method, _ path: RouterPath,
        use handler: @escaping @Sendable (Request, ConsoleContext) async throws -> Response
    ) {
        router.on(path, method: method) { request, context in try await handler(request, context) }
    }

    /// Adds a route that shows something to every operator.
    func get(
        _ path: RouterPath, use handler: @escaping @Sendable (Request, OperatorContext) async throws -> Response
    ) {
        let group = router.group(path).add(middleware: SessionMiddleware(accounts: accounts))
            .group(context: OperatorContext.self)
        group.get { request, context in try await handler(request, context) }
    }

    /// Adds a route by which operators of every role change only their own session.
    func own(
        _ method: HTTPRequest.Method, _ path: RouterPath,
        use handler: @escaping @Sendable (Request, OperatorContext) async throws -> Response
    ) {
        let group = router.group(path).add(middleware: SessionMiddleware(accounts: accounts))
            .add(middleware: CSRFMiddleware()).group(context: OperatorContext.self)
        group.on("", method: method) { request, context in try await handler(request, context) }
    }

    /// Adds a route that changes something, or shows what not every operator may see. `prepare` reads the request; the
    /// change that it returns is recorded before it is carried out.
    func change(
        _ method: HTTPRequest.Method, _ path: RouterPath,
        prepare: @escaping @Sendable (Request, OperatorContext) async throws -> AuditedChange
    ) {
        var group = router.group(path).add(middleware: SessionMiddleware(accounts: accounts))
        if method != .get { group = group.add(middleware: CSRFMiddleware()) }
        let changing = group.add(middleware: RoleMiddleware()).group(context: OperatorContext.self)
        changing.on("", method: method) { [audit] request, context in
            try await audit.carryOut(try await prepare(request, context), in: context)
        }
    }
}

/// A group of routes.
protocol ConsoleFeature {
    func add(to routes: ConsoleRoutes)
}
