// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Metrics
import NIOCore
import NIOPosix
import NetKit
import RPC
import ServiceLifecycle
import UnixSignals

/// What all four mains have in common: settings, logs, metrics, health, signals, and an orderly end.
public enum ServiceBootstrap {
    /// What an end of the process tells the one that started it.
    enum ExitCode {
        static let failure: Int32 = 1
        /// `EX_CONFIG` of sysexits: starting it again without changing the settings is of no use.
        static let configuration: Int32 = 78
    }

    /// Runs a service as this process; see ``run(name:secretKey:_:)`` for how it ends.
    public static func run<Running: StrataService>(_ service: Running.Type) async {
        await run(name: service.name, secretKey: service.secretKey) { process in
            let running = try Running(settings: Running.Configuration(process.settings, common: process.common), environment: process.environment)
            running.addChecks(to: process.health)
            return running.services
        }
    }

    /// Runs what `body` builds until SIGTERM or SIGINT, then shuts it down gracefully.
    ///
    /// `body` builds what runs, in the order of dependency: it starts in this order and stops in the reverse one. While they stop, readiness is refused. A setting that is missing or wrong ends the process with one line on
    /// standard error and exit code 78; any other error is logged and ends it with 1. A shutdown that exceeds `STRATA_SHUTDOWN_TIMEOUT`
    /// cancels what is still running.
    static func run(
        name: String, secretKey: String = "STRATA_CLUSTER_SECRET", _ body: (ProcessContext) async throws -> [any Service]
    ) async {
        // A peer that goes away while we write is an error of that write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            try await start(name: name, secretKey: secretKey, settings: try await Settings.load(), body)
        } catch let error as SettingsError {
            StandardError.write(Array("\(name): \(error)\n".utf8))
            exit(ExitCode.configuration)
        } catch {
            Logger(label: name).critical("service failed", metadata: ["error.type": "\(type(of: error))", "error.message": "\(error)"])
            exit(ExitCode.failure)
        }
    }

    private static func start(
        name: String, secretKey: String, settings: Settings, _ body: (ProcessContext) async throws -> [any Service]
    ) async throws {
        let common = try CommonSettings(settings, secretKey: secretKey)
        LoggingSystem.bootstrap(
            { label, provider in
                JSONLogHandler(label: label, service: name, instance: common.instance, level: common.logLevel, metadataProvider: provider)
            }, metadataProvider: nil)
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: common.eventLoopThreads)
        let logger = Logger(label: name)
        raiseOpenFiles(logger)
        let process = ProcessContext(
            settings: settings, common: common, environment: ServiceEnvironment(eventLoopGroup: loops, logger: logger), health: Health(),
            metrics: registry)
        let services = try await body(process)
        if !settings.unusedKeys.isEmpty {
            logger.notice("settings that nothing reads", metadata: ["settings.keys": .array(settings.unusedKeys.map { .string($0) })])
        }
        try await group(of: services, for: process).run()
        try await loops.shutdownGracefully()
        logger.info("service stopped")
    }

    private static func raiseOpenFiles(_ logger: Logger) {
        if let error = OpenFileLimit.raise() { logger.warning("the limit of open files cannot be raised", metadata: ["error.errno": "\(error)"]) }
        let limit = OpenFileLimit.current.map { "\($0.soft)" } ?? "unknown"
        logger.info("open files are limited", metadata: ["process.max_fds": "\(limit)", "process.max_connections": "\(OpenFileLimit.connections)"])
    }

    private static func group(of services: [any Service], for process: ProcessContext) -> ServiceGroup {
        let admin = AdminServer(
            host: process.common.adminHost, port: process.common.adminPort, health: process.health, registry: process.metrics,
            eventLoopGroup: process.environment.eventLoopGroup, logger: process.environment.logger)
        // First to start and last to stop, so that health can be asked all the time; and the announcement the other way round.
        let all: [any Service] = [admin, MemoryTrimmer()] + services + [StopAnnouncer(health: process.health, logger: process.environment.logger)]
        var configuration = ServiceGroupConfiguration(
            services: all.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
            logger: process.environment.logger)
        configuration.maximumGracefulShutdownDuration = process.common.shutdownTimeout
        // A service that ignores even its cancellation must not keep the process for ever.
        configuration.maximumCancellationDuration = .seconds(10)
        return ServiceGroup(configuration: configuration)
    }
}

/// Stops before all others, and says so: readiness is refused from then on.
struct StopAnnouncer: Service {
    let health: Health
    let logger: Logger

    func run() async throws {
        try? await gracefulShutdown()
        health.stop()
        logger.info("service is stopping")
    }
}
