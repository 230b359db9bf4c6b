// SPDX-License-Identifier: Apache-2.0
public import Logging
public import NIOCore
public import ServiceLifecycle

/// The settings of one service, each with its key and its default.
public protocol ServiceSettings: Sendable {
    /// Reads all settings.
    /// - Throws: ``SettingsError`` if a key is missing or unusable.
    init(_ settings: Settings, common: CommonSettings) throws
}

/// A service of Strata. This protocol runs it.
///
/// All services are written in the same order: settings, dependencies, handlers by feature, health checks.
///
/// A service holds no state that another instance would need. Any number of instances can run, and each can be killed
/// at any moment.
public protocol StrataService: Service {
    /// The settings of the service.
    associatedtype Configuration: ServiceSettings

    /// The executable's name, which is also the name in logs and metrics.
    static var name: String { get }

    /// The key of the secret that callers of the service must prove to hold.
    static var secretKey: String { get }

    /// Builds the service. Connections are made only when it runs.
    /// - Throws: An error that names the setting at fault.
    init(settings: Configuration, environment: ServiceEnvironment) throws

    /// The services to run, in the order of dependency. They start in this order and stop in reverse order, so that a
    /// server finishes its calls while its pools still work.
    var services: [any Service] { get }

    /// Adds the readiness checks of the service.
    func addChecks(to health: Health)

    /// Adds the service's own routes to its admin port; by default none.
    func addRoutes(to admin: AdminRoutes)
}

extension StrataService {
    /// The default key, `STRATA_CLUSTER_SECRET`.
    public static var secretKey: String { "STRATA_CLUSTER_SECRET" }

    /// Adds no routes.
    public func addRoutes(to admin: AdminRoutes) {}

    /// Runs the process: reads the settings, runs the service until SIGTERM or SIGINT, and serves health and metrics.
    public static func main() async { await ServiceBootstrap.run(Self.self) }

    /// Runs the service alone, without health and metrics, until the task is cancelled or shut down gracefully.
    public func run() async throws {
        let services = services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
        try await ServiceGroup(configuration: .init(services: services, logger: Logger(label: Self.name))).run()
    }
}

/// The dependencies of every service, apart from its settings.
public struct ServiceEnvironment: Sendable {
    /// The event loops for all network I/O of the process.
    public let eventLoopGroup: any EventLoopGroup
    /// The process's logger.
    public let logger: Logger

    /// Creates an environment.
    public init(eventLoopGroup: any EventLoopGroup, logger: Logger) {
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
    }
}

/// The context in which a process builds its service.
public struct ProcessContext: Sendable {
    /// The operator's settings. Read all of them at the start.
    public let settings: Settings
    /// The settings that all services share.
    public let common: CommonSettings
    /// The environment of the service.
    public let environment: ServiceEnvironment
    /// The registry of readiness checks.
    public let health: Health
    /// The routes of the service on the admin port.
    public let routes = AdminRoutes()
    /// The registry of the process's metrics.
    public let metrics: PrometheusRegistry
}
