// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The configuration of connections to Redis, for ``RedisClient`` and ``RedisSubscriber``.
public struct RedisConfiguration: Sendable {
    /// The addresses of one server, tried in turn, or of some nodes of a cluster, through which the others are
    /// discovered.
    public var endpoints: [RedisEndpoint]

    /// The ACL user name; nil: the default user. Used only with a password.
    public var username: String?

    /// The password for AUTH; nil: none. It is secret and never appears in errors or logs.
    public var password: String?

    /// The TLS configuration; nil: no encryption, not even of the password.
    public var tls: RedisTLS?

    /// True if the servers form a Redis Cluster; nil: determined by the first server that answers.
    public var isCluster: Bool?

    /// The time-out for connecting and authenticating: default 2 s.
    public var connectTimeout: Duration

    /// The time-out of commands without their own deadline (``RedisClient/publishWithoutWaiting(_:to:)``, topology
    /// queries), and of calls in flight during a shutdown: default 2 s.
    public var commandTimeout: Duration

    /// The delay before the first reconnection attempt: default 50 ms. It doubles with each further one. Half of each
    /// delay is random.
    public var reconnectBackoffMinimum: Duration

    /// The maximum delay between reconnection attempts: default 2 s.
    public var reconnectBackoffMaximum: Duration

    /// The time within which the connection to an unresponsive server is closed: default 5 s. An idle connection sends
    /// a PING within half of this time, so no command may take longer than that half.
    public var livenessTimeout: Duration

    /// The maximum number of queued and in-flight commands: default 16,384. Further ones fail with
    /// ``RedisError/Code/queueFull``. Without a limit, a slow server could make the process run out of memory.
    public var queueLimit: Int

    /// The maximum size of the arguments of these commands, in bytes: default 64 MiB.
    public var queueLimitBytes: Int

    /// The maximum size of a reply in bytes as received: default 64 MiB. A larger one closes the connection.
    public var maximumReplyBytes: Int

    /// The maximum number of channels in one SSUBSCRIBE command: default 256.
    public var subscriptionBatch: Int

    /// The name for CLIENT SETNAME, shown in CLIENT LIST; nil: none. Must not contain spaces.
    public var clientName: String?

    /// Creates a configuration. The default durations and limits suit a server in the same network.
    public init(
        endpoints: [RedisEndpoint], username: String? = nil, password: String? = nil, tls: RedisTLS? = nil,
        isCluster: Bool? = nil,
        connectTimeout: Duration = .seconds(2), commandTimeout: Duration = .seconds(2),
        reconnectBackoffMinimum: Duration = .milliseconds(50), reconnectBackoffMaximum: Duration = .seconds(2),
        livenessTimeout: Duration = .seconds(5), queueLimit: Int = 16_384, queueLimitBytes: Int = 64 << 20,
        maximumReplyBytes: Int = 64 << 20, subscriptionBatch: Int = 256, clientName: String? = nil
    ) {
        self.endpoints = endpoints
        self.username = username
        self.password = password
        self.tls = tls
        self.isCluster = isCluster
        self.connectTimeout = connectTimeout
        self.commandTimeout = commandTimeout
        self.reconnectBackoffMinimum = reconnectBackoffMinimum
        self.reconnectBackoffMaximum = reconnectBackoffMaximum
        self.livenessTimeout = livenessTimeout
        self.queueLimit = queueLimit
        self.queueLimitBytes = queueLimitBytes
        self.maximumReplyBytes = maximumReplyBytes
        self.subscriptionBatch = subscriptionBatch
        self.clientName = clientName
    }

    /// The delays between attempts, at least 1 ms.
    var reconnectBackoff: Backoff {
        Backoff(
            initial: max(reconnectBackoffMinimum, .milliseconds(1)),
            maximum: max(reconnectBackoffMaximum, .milliseconds(1)))
    }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The endpoints, without the credentials.
    public var description: String {
        (tls == nil ? "redis://" : "rediss://") + endpoints.map(\.description).joined(separator: ",")
    }

    /// The ``description``.
    public var debugDescription: String { description }

    /// A mirror without the credentials, so that dumping a configuration cannot reveal them.
    public var customMirror: Mirror { Mirror(self, children: ["endpoints": endpoints]) }
}
