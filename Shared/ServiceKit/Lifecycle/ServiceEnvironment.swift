// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore

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
    /// The registry of the process's metrics.
    public let metrics: PrometheusRegistry
}
