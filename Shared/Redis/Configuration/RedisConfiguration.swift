// SPDX-License-Identifier: Apache-2.0

import NetKit

/// How to reach Redis and how patient to be with it. The same value serves ``RedisClient`` and ``RedisSubscriber``.
public struct RedisConfiguration: Sendable {
    /// Addresses of one server (tried in turn), or some of the nodes of a cluster (the others are discovered).
    public var endpoints: [RedisEndpoint]

    /// The ACL user name; nil for the default user. Only used together with a password.
    public var username: String?

    /// The password sent with AUTH; nil to send none. Secret: it never appears in errors or logs.
    public var password: String?

    /// How connections are encrypted; nil sends everything, the password too, as it is.
    public var tls: RedisTLS?

    /// Whether the servers form a Redis Cluster; nil asks the first server that answers.
    public var isCluster: Bool?

    /// The time in which a connection must be established and authenticated.
    public var connectTimeout: Duration

    /// The time allowed for commands that carry no deadline of their own (``RedisClient/publishWithoutWaiting(_:to:)``, topology queries),
    /// and for calls in flight to finish on shutdown.
    public var commandTimeout: Duration

    /// The pause before the first attempt to reconnect; doubled for each further one. Half of each pause is random.
    public var reconnectBackoffMinimum: Duration

    /// The longest pause between two attempts to reconnect.
    public var reconnectBackoffMaximum: Duration

    /// The time in which a server that went silent is noticed and its connection dropped. An idle connection is asked to PING within half of it,
    /// so no single command may take longer than that half.
    public var livenessTimeout: Duration

    /// Commands waiting or in flight, at most; further ones fail with ``RedisError/Code/queueFull``. Without this bound a slow server would
    /// let the process grow until it is killed.
    public var queueLimit: Int

    /// The bytes of the arguments of these commands, at most.
    public var queueLimitBytes: Int

    /// The size of a reply, in bytes as received, above which the connection is closed as broken.
    public var maximumReplyBytes: Int

    /// Channels in one SSUBSCRIBE command, at most.
    public var subscriptionBatch: Int

    /// The name set with CLIENT SETNAME, to be found in CLIENT LIST; nil to set none. Must not contain spaces.
    public var clientName: String?

    /// Creates a configuration; all durations and limits have defaults fit for a server in the same network.
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

    /// The pauses between attempts; never so short that they are none.
    var reconnectBackoff: Backoff {
        Backoff(initial: max(reconnectBackoffMinimum, .milliseconds(1)), maximum: max(reconnectBackoffMaximum, .milliseconds(1)))
    }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The endpoints; never the credentials.
    public var description: String { (tls == nil ? "redis://" : "rediss://") + endpoints.map(\.description).joined(separator: ",") }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// A mirror without the credentials, so that dumping a configuration cannot leak them.
    public var customMirror: Mirror { Mirror(self, children: ["endpoints": endpoints]) }
}
