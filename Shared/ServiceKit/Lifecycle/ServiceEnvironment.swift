// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore

/// What a service is put together with, beside its settings.
public struct ServiceEnvironment: Sendable {
    /// For all network I/O of the process.
    public let eventLoopGroup: any EventLoopGroup
    /// The process's logger.
    public let logger: Logger

    /// An environment.
    public init(eventLoopGroup: any EventLoopGroup, logger: Logger) {
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
    }
}

/// What a process has before its service is put together.
public struct ProcessContext: Sendable {
    /// What the operator has set. Read all of it at the start.
    public let settings: Settings
    /// The settings that all services have.
    public let common: CommonSettings
    /// What the service is put together with.
    public let environment: ServiceEnvironment
    /// Takes readiness checks.
    public let health: Health
    /// The process's metrics.
    public let metrics: PrometheusRegistry
}
