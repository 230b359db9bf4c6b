// SPDX-License-Identifier: Apache-2.0

public import Redis

/// How a service that sends commands reaches Redis.
///
/// | Key | Default | Meaning |
/// |---|---|---|
/// | `STRATA_REDIS_URL` | required, secret | the server, or the servers of a cluster |
/// | `STRATA_REDIS_QUEUE` | 16,384; 1 to 1,048,576 | commands that wait or are in flight; beyond it calls fail at once, and publications are dropped and counted |
/// | `STRATA_REDIS_QUEUE_BYTES` | 64 MB; 64 KB to 2 GB | bytes of their arguments |
public struct RedisSettings: Sendable {
    /// The server, or the servers of a cluster.
    public var url: Secret<String>
    /// Commands that wait or are in flight.
    public var queue = 16_384
    /// Bytes of their arguments.
    public var queueBytes = 64 << 20

    /// Settings with this address, and for the rest the defaults above.
    public init(url: String) { self.url = Secret(url) }

    /// Reads them.
    /// - Throws: ``SettingsError`` naming the key that is missing or cannot be used.
    public init(_ settings: Settings) throws {
        url = try settings.secret("STRATA_REDIS_URL")
        queue = try settings.int("STRATA_REDIS_QUEUE", default: queue, in: 1...1 << 20)
        queueBytes = try settings.int("STRATA_REDIS_QUEUE_BYTES", default: queueBytes, in: 1 << 16...Int(Int32.max))
    }

    /// The same for a client.
    /// - Parameter service: the name of the service, by which Redis lists the connection.
    /// - Throws: if the address cannot be used.
    public func configuration(for service: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url.value)
        configuration.clientName = "strata-\(service)"
        configuration.queueLimit = queue
        configuration.queueLimitBytes = queueBytes
        return configuration
    }
}
