// SPDX-License-Identifier: Apache-2.0

public import Redis

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
