// SPDX-License-Identifier: Apache-2.0

import Logging
public import ServiceLifecycle

/// The settings of one service, each with its key and its default.
public protocol ServiceSettings: Sendable {
    /// Reads all of them.
    /// - Throws: ``SettingsError`` naming the key that is missing or cannot be used.
    init(_ settings: Settings, common: CommonSettings) throws
}

/// A service of Strata. All are written in the same order: settings, then what the service depends on, then its handlers by feature, then its health; this
/// protocol runs it.
///
/// A service holds no state that another instance would miss: any number of instances run, and each can be killed at any moment.
public protocol StrataService: Service {
    /// What an operator can set.
    associatedtype Configuration: ServiceSettings

    /// The executable's name, which is also the name in logs and metrics.
    static var name: String { get }

    /// The key of the secret that callers of the service prove to hold.
    static var secretKey: String { get }

    /// Puts the service together; nothing is connected before it runs.
    /// - Throws: an error that names the setting at fault.
    init(settings: Configuration, environment: ServiceEnvironment) throws

    /// Everything that has to run, in the order of dependency: it starts in this order and stops in the reverse one, so that a server finishes its calls while
    /// its pools still work.
    var services: [any Service] { get }

    /// Adds the questions whether the service can do its work.
    func addChecks(to health: Health)
}

extension StrataService {
    /// `STRATA_CLUSTER_SECRET`.
    public static var secretKey: String { "STRATA_CLUSTER_SECRET" }

    /// The process: reads the settings, runs the service until SIGTERM or SIGINT, and answers health and metrics meanwhile.
    public static func main() async { await ServiceBootstrap.run(Self.self) }

    /// Runs the service alone, without health and metrics, until the task is cancelled or shuts down gracefully.
    public func run() async throws {
        let services = services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
        try await ServiceGroup(configuration: .init(services: services, logger: Logger(label: Self.name))).run()
    }
}
