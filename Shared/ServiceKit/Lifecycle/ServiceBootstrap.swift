// SPDX-License-Identifier: Apache-2.0
import CMalloc
import Foundation
import Logging
import Metrics
import NIOCore
import NIOPosix
import NetKit
import RPC
import ServiceLifecycle
import UnixSignals

/// The common part of all service executables: settings, logs, metrics, health, signals and graceful shutdown.
public enum ServiceBootstrap {
    enum ExitCode {
        static let failure: Int32 = 1
        /// `EX_CONFIG` of sysexits. A restart without changed settings would fail again.
        static let configuration: Int32 = 78
    }

    /// Runs a service as this process. See ``run(name:secretKey:_:)`` for the exit codes.
    public static func run<Running: StrataService>(_ service: Running.Type) async {
        await run(name: service.name, secretKey: service.secretKey) { process in
            let running = try Running(
                settings: Running.Configuration(process.settings, common: process.common),
                environment: process.environment)
            running.addChecks(to: process.health)
            running.addRoutes(to: process.routes)
            return running.services
        }
    }

    /// Runs the services that `body` returns until SIGTERM or SIGINT, then shuts them down gracefully.
    ///
    /// `body` returns the services in the order of dependency. They start in this order and stop in reverse order.
    /// Readiness is refused during the shutdown. A shutdown that exceeds `STRATA_SHUTDOWN_TIMEOUT` is followed by
    /// cancellation.
    ///
    /// | Exit code | Cause |
    /// |---|---|
    /// | 78 | a missing or wrong setting, named in one line on standard error |
    /// | 1 | any other error, which is logged |
    static func run(
        name: String, secretKey: String = "STRATA_CLUSTER_SECRET",
        _ body: (ProcessContext) async throws -> [any Service]
    ) async {
        // Ignore SIGPIPE, so that a closed peer causes an error of the write instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            try await start(name: name, secretKey: secretKey, settings: try await Settings.load(), body)
        } catch let error as SettingsError {
            StandardError.write(Array("\(name): \(error)\n".utf8))
            exit(ExitCode.configuration)
        } catch {
            Logger(label: name)
                .critical(
                    "service failed", metadata: ["error.type": "\(type(of: error))", "error.message": "\(error)"])
            exit(ExitCode.failure)
        }
    }

    private static func start(
        name: String, secretKey: String, settings: Settings, _ body: (ProcessContext) async throws -> [any Service]
    ) async throws {
        let common = try CommonSettings(settings, secretKey: secretKey)
        LoggingSystem.bootstrap(
            { label, provider in
                JSONLogHandler(
                    label: label, service: name, instance: common.instance, level: common.logLevel,
                    metadataProvider: provider)
            }, metadataProvider: nil)
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: common.eventLoopThreads)
        let logger = Logger(label: name)
        raiseOpenFiles(logger)
        let process = ProcessContext(
            settings: settings, common: common, environment: ServiceEnvironment(eventLoopGroup: loops, logger: logger),
            health: Health(),
            metrics: registry)
        let services = try await body(process)
        if !settings.unusedKeys.isEmpty {
            logger.notice(
                "unknown settings",
                metadata: ["settings.keys": .array(settings.unusedKeys.map { .string($0) })])
        }
        try await group(of: services, for: process).run()
        try await loops.shutdownGracefully()
        logger.info("service stopped")
    }

    private static func raiseOpenFiles(_ logger: Logger) {
        if let error = OpenFileLimit.raise() {
            logger.warning("open file limit cannot be raised", metadata: ["error.errno": "\(error)"])
        }
        let limit = OpenFileLimit.current.map { "\($0.soft)" } ?? "unknown"
        logger.info(
            "open file limit",
            metadata: ["process.max_fds": "\(limit)", "process.max_connections": "\(OpenFileLimit.connections)"])
    }

    private static func group(of services: [any Service], for process: ProcessContext) -> ServiceGroup {
        let admin = AdminServer(
            host: process.common.adminHost, port: process.common.adminPort, health: process.health,
            registry: process.metrics, routes: process.routes,
            eventLoopGroup: process.environment.eventLoopGroup, logger: process.environment.logger)
        // The admin server starts first and stops last, so that health can always be queried. The announcer starts last
        // and stops first.
        let all: [any Service] =
            [admin, MemoryTrimmer()] + services + [
                StopAnnouncer(health: process.health, logger: process.environment.logger)
            ]
        var configuration = ServiceGroupConfiguration(
            services: all.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: process.environment.logger)
        configuration.maximumGracefulShutdownDuration = process.common.shutdownTimeout
        // A service that ignores its cancellation must not keep the process alive indefinitely.
        configuration.maximumCancellationDuration = .seconds(10)
        return ServiceGroup(configuration: configuration)
    }
}

/// A service that stops before all others. It logs the shutdown and makes the process refuse readiness.
struct StopAnnouncer: Service {
    let health: Health
    let logger: Logger

    func run() async throws {
        try? await gracefulShutdown()
        health.stop()
        logger.info("service is stopping")
    }
}

/// A service that returns free memory to the system.
///
/// glibc keeps free memory between live allocations and returns it only on request. After a burst of thousands of
/// clients, each with a catch-up, that is 20 KB for each idle connection (docs/benchmarks.md).
struct MemoryTrimmer: Service {
    static let period = Duration.seconds(10)
    /// The number of free bytes above which trimming is worth the milliseconds it takes.
    static let threshold = 16 << 20

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.period)
                // Trimming walks the heap under its locks, so it must not block a thread that others wait for.
                _ = try await NIOThreadPool.singleton.runIfActive { Self.trim(above: Self.threshold) }
            }
        }
    }

    /// Returns whole free pages to the system if more than `limit` bytes are free.
    /// - Returns: True if more than `limit` bytes were free.
    @discardableResult
    static func trim(above limit: Int) -> Bool {
        let info = mallinfo2()
        guard info.fordblks > limit else { return false }
        _ = malloc_trim(0)
        return true
    }
}
