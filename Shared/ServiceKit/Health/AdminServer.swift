// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
import NetKit
import RPC
public import ServiceLifecycle

/// The HTTP server for operators and monitoring, on its own port: `/health/live`, `/health/ready`, `/metrics`, and the
/// routes of the service.
///
/// The server requires no credentials, so its port must not be reachable from the open network.
public struct AdminServer: Service {
    private let host: String
    private let port: Int
    private let health: Health
    private let registry: PrometheusRegistry
    private let routes: AdminRoutes
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onListening: @Sendable (Int) -> Void

    /// Creates a server. It listens while ``run()`` runs.
    /// - Parameters:
    ///   - port: The TCP port. 0: any free port.
    ///   - onListening: Called with the port.
    public init(
        host: String, port: Int, health: Health, registry: PrometheusRegistry, routes: AdminRoutes = AdminRoutes(),
        eventLoopGroup: any EventLoopGroup, logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.health = health
        self.registry = registry
        self.routes = routes
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or shut down gracefully.
    public func run() async throws {
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let service = HTTPService(
            responder: router().buildResponder(),
            configuration: ServerConfiguration(address: .hostname(host, port: port)),
            onListening: { [logger, onListening] channel in
                // A smaller reserve, so that operators can still connect when clients cannot.
                await ListenerGuard.add("admin", reserve: 16, to: channel, logger: logger)
                let bound = channel.localAddress?.port ?? 0
                logger.info("admin server listening", metadata: ["admin.port": "\(bound)"])
                onListening(bound)
            }, eventLoopGroup: eventLoopGroup, logger: quiet)
        try await service.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("health/live") { _, _ in
            response(.ok, type: "application/json", body: Array(#"{"status":"live"}"#.utf8))
        }
        router.get("health/ready") { [health] _, _ in
            let report = await health.report()
            return response(report.isReady ? .ok : .serviceUnavailable, type: "application/json", body: report.json)
        }
        router.get("metrics") { [registry] _, _ in
            response(
                .ok, type: "text/plain; version=0.0.4; charset=utf-8",
                body: Array((registry.text() + ProcessMetrics.text()).utf8))
        }
        routes.add(to: router)
        return router
    }
}

private func response(_ status: HTTPResponse.Status, type: String, body: [UInt8]) -> Response {
    Response(
        status: status, headers: [.contentType: type, .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(bytes: body)))
}

/// A helper that adds an ``AcceptGuard`` to the listeners of HTTP servers.
public enum ListenerGuard {
    /// Adds an accept guard to a listener. Failures to accept are counted in
    /// `strata_process_accept_failures_total{listener="…"}`.
    /// - Parameters:
    ///   - name: The name of the listener in the log and the metric.
    ///   - reserve: The number of the process's descriptors that connections of this listener cannot use.
    public static func add(_ name: String, reserve: Int = 32, to channel: any Channel, logger: Logger) async {
        let failures = Counter(label: "strata_process_accept_failures_total", dimensions: [("listener", name)])
        // The listener may already be closed; then it needs no guard.
        try? await channel.eventLoop
            .submit {
                try AcceptGuard.add(name, reserve: reserve, to: channel, logger: logger) { failures.increment() }
            }
            .get()
    }
}
