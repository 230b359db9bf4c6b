// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Logging
public import Redis

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The settings that all services share.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_CLUSTER_SECRET`; in webhooks `STRATA_WEBHOOKS_SECRET` | required, 32 characters or more | service secret |
/// | `STRATA_RPC_HOST`, `STRATA_RPC_PORT` | `0.0.0.0`, 7400 | listening address for other services |
/// | `STRATA_ADMIN_HOST`, `STRATA_ADMIN_PORT` | `0.0.0.0`, 7401 | listening address of health and metrics |
/// | `STRATA_LOG_LEVEL` | `info` | least severe level that is logged |
/// | `STRATA_INSTANCE` | host name and process id | this process's name in logs and metrics |
/// | `STRATA_EVENT_LOOP_THREADS` | number of cores | threads for network I/O |
/// | `STRATA_SHUTDOWN_TIMEOUT` | `30s` | maximum duration of a graceful shutdown |
/// | `STRATA_RPC_TLS_CERTIFICATE`, `STRATA_RPC_TLS_KEY`, `STRATA_RPC_TLS_CA` | none | PEM files; enable TLS |
/// | `STRATA_CONFIG_FILE` | none | file of `KEY=value` lines; the environment takes precedence |
public struct CommonSettings: Sendable {
    /// The secret that callers of this service must prove to hold.
    public let serviceSecret: Secret<String>
    /// The host on which this service listens for other services.
    public let rpcHost: String
    /// The port on which this service listens for other services. 0: any free port.
    public let rpcPort: Int
    /// The host on which health and metrics are served.
    public let adminHost: String
    /// The port on which health and metrics are served. 0: any free port.
    public let adminPort: Int
    /// The least severe level that is logged.
    public let logLevel: Logger.Level
    /// This process's name in logs and metrics.
    public let instance: String
    /// The number of threads for network I/O.
    public let eventLoopThreads: Int
    /// The maximum duration of a graceful shutdown. Afterwards everything is cancelled.
    public let shutdownTimeout: Duration

    /// Reads the settings.
    /// - Parameter secretKey: The key of ``serviceSecret``.
    /// - Throws: ``SettingsError``.
    public init(_ settings: Settings, secretKey: String = "STRATA_CLUSTER_SECRET") throws {
        serviceSecret = try settings.secret(secretKey, minimumLength: 32)
        rpcHost = try settings.string("STRATA_RPC_HOST", default: "0.0.0.0")
        rpcPort = try settings.int("STRATA_RPC_PORT", default: 7400, in: 0...65_535)
        adminHost = try settings.string("STRATA_ADMIN_HOST", default: "0.0.0.0")
        adminPort = try settings.int("STRATA_ADMIN_PORT", default: 7401, in: 0...65_535)
        logLevel = try settings.logLevel("STRATA_LOG_LEVEL", default: .info)
        instance = try settings.string("STRATA_INSTANCE", default: CommonSettings.defaultInstance)
        eventLoopThreads = try settings.int(
            "STRATA_EVENT_LOOP_THREADS", default: ProcessInfo.processInfo.activeProcessorCount, in: 1...1024)
        shutdownTimeout = try settings.duration(
            "STRATA_SHUTDOWN_TIMEOUT", default: .seconds(30), in: .milliseconds(1) ... .seconds(3600))
    }

    private static var defaultInstance: String {
        var name = [CChar](repeating: 0, count: 256)
        let known = gethostname(&name, name.count - 1) == 0
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return (known ? String(decoding: bytes, as: UTF8.self) : "host")
            + "-\(ProcessInfo.processInfo.processIdentifier)"
    }
}

/// The Redis settings of a service that sends commands.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_REDIS_URL` | required, secret | the server, or the servers of a cluster |
/// | `STRATA_REDIS_QUEUE` | 16,384; 1 to 1,048,576 | commands queued or in flight |
/// | `STRATA_REDIS_QUEUE_BYTES` | 64 MB; 64 KB to 2 GB | bytes of the arguments of those commands |
///
/// Beyond either limit, calls fail at once, and publications are dropped and counted.
public struct RedisSettings: Sendable {
    /// The address of the server, or of the servers of a cluster.
    public var url: Secret<String>
    /// The maximum number of commands that are queued or in flight.
    public var queue = 16_384
    /// The maximum number of bytes in the arguments of those commands.
    public var queueBytes = 64 << 20

    /// Creates settings with this address and default values.
    public init(url: String) { self.url = Secret(url) }

    /// Reads the settings.
    /// - Throws: ``SettingsError`` if a key is missing or unusable.
    public init(_ settings: Settings) throws {
        url = try settings.secret("STRATA_REDIS_URL")
        queue = try settings.int("STRATA_REDIS_QUEUE", default: queue, in: 1...1 << 20)
        queueBytes = try settings.int("STRATA_REDIS_QUEUE_BYTES", default: queueBytes, in: 1 << 16...Int(Int32.max))
    }

    /// Returns the configuration of a Redis client.
    /// - Parameter service: The name of the service, which Redis shows in its list of connections.
    /// - Throws: An error if the address is unusable.
    public func configuration(for service: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url.value)
        configuration.clientName = "strata-\(service)"
        configuration.queueLimit = queue
        configuration.queueLimitBytes = queueBytes
        return configuration
    }
}
