// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore

/// What a service's `main` is given to build its services with.
public struct ServiceEnvironment: Sendable {
    /// The executable's name.
    public let name: String
    /// What the operator has set. Read all of it now.
    public let settings: Settings
    /// The settings that all services have.
    public let common: CommonSettings
    /// The process's logger.
    public let logger: Logger
    /// For all network I/O of the process.
    public let eventLoopGroup: any EventLoopGroup
    /// Add readiness checks here.
    public let health: Health
    /// The process's metrics.
    public let metrics: PrometheusRegistry
}
