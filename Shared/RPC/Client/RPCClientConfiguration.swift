// SPDX-License-Identifier: Apache-2.0

public import NIOSSL
public import NetKit

/// The configuration of a client: its servers and its limits.
public struct RPCClientConfiguration: Sendable {
    /// The servers of a client.
    public enum Target: Sendable, Hashable, CustomStringConvertible {
        /// All addresses of a DNS name, looked up every ``RPCClientConfiguration/resolveInterval``.
        case dns(host: String, port: Int)
        /// Fixed endpoints. Names among them are looked up periodically, too.
        case fixed([RPCEndpoint])

        var endpoints: [RPCEndpoint] {
            switch self {
            case .dns(let host, let port): [RPCEndpoint(host: host, port: port)]
            case .fixed(let endpoints): endpoints
            }
        }

        /// The endpoints as `host:port`, separated by commas.
        public var description: String { endpoints.map(\.description).joined(separator: ",") }
    }

    /// The servers.
    public var target: Target
    /// The secret that both sides must hold. It is never transmitted.
    public var clusterSecret: String
    /// The expected name of the service; nil: any. A server with another name is treated as unreachable, and retried.
    /// An address can pass to an instance of another service, and all services of a cluster hold the same secret.
    public var service: String?
    /// The TLS configuration; nil: plain TCP.
    public var tls: TLSConfiguration?
    /// The expected name in the server's certificate; nil: the host of a ``Target/dns(host:port:)`` target if it is a
    /// name.
    public var tlsServerName: String?
    /// The maximum time for connecting and the handshake, and the maximum wait for a first connection: default 3 s.
    public var connectTimeout: Duration = .seconds(3)
    /// The maximum number of calls in flight on all connections: default 4096. A further call fails immediately as
    /// overloaded.
    public var maxCallsInFlight = 4096
    /// The time between name lookups: default 5 s.
    public var resolveInterval: Duration = .seconds(5)
    /// The delays before reconnecting: default 50 ms to 2 s.
    public var backoff = Backoff(initial: .milliseconds(50), maximum: .seconds(2))
    /// The maximum size of a frame in bytes: default 4 MiB. A request can have 35 bytes less.
    public var maxFrameBytes = 4 << 20
    /// The maximum size of a response in bytes, possibly in several frames: default 64 MiB.
    public var maxAnswerBytes = 64 << 20
    /// The maximum size of all incomplete long responses in bytes: default 256 MiB. A call whose response would exceed
    /// it fails as overloaded, unless it is the only one.
    public var maxArrivingBytes = 256 << 20
    /// The maximum size of the requests queued for one address in bytes, in equal shares for the connections to it:
    /// default 32 MiB. A call that would exceed a share fails as overloaded, unless nothing else is queued.
    public var maxQueuedBytes = 32 << 20
    /// The time without data from a server after which a ping is sent: default 1 s.
    public var pingInterval: Duration = .seconds(1)
    /// The number of further intervals without data after which the connection is closed: default 2.
    public var pingMisses = 2
    /// The maximum time for calls in flight when the client shuts down or an address disappears: default 10 s.
    public var drainTimeout: Duration = .seconds(10)
    /// The label that distinguishes the clients of one process in the metrics.
    public var name: String
    /// A function that returns the label of a method in metrics.
    public var methodName: @Sendable (RPCMethod) -> String = { $0.description }

    /// Creates a configuration. Other values have the defaults above.
    public init(
        target: Target, clusterSecret: String, tls: TLSConfiguration? = nil, connectTimeout: Duration = .seconds(3),
        maxCallsInFlight: Int = 4096,
        resolveInterval: Duration = .seconds(5),
        backoff: Backoff = Backoff(initial: .milliseconds(50), maximum: .seconds(2)), name: String? = nil
    ) {
        self.target = target
        self.clusterSecret = clusterSecret
        self.tls = tls
        self.connectTimeout = connectTimeout
        self.maxCallsInFlight = maxCallsInFlight
        self.resolveInterval = resolveInterval
        self.backoff = backoff
        self.name = name ?? target.description
    }
}

extension RPCClientConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the cluster secret, so that code can safely print the configuration.
    public var description: String { "RPCClientConfiguration(target: \(target), name: \(name))" }
    /// The ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` does not reveal the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
