// SPDX-License-Identifier: Apache-2.0

public import NIOSSL
public import NetKit

/// Where a client finds its servers, and the bounds it keeps.
public struct RPCClientConfiguration: Sendable {
    /// Where the servers are.
    public enum Target: Sendable, Hashable, CustomStringConvertible {
        /// All addresses of a DNS name, looked up again every ``RPCClientConfiguration/resolveInterval``.
        case dns(host: String, port: Int)
        /// These endpoints. Names among them are looked up again as well.
        case fixed([RPCEndpoint])

        var endpoints: [RPCEndpoint] {
            switch self {
            case .dns(let host, let port): [RPCEndpoint(host: host, port: port)]
            case .fixed(let endpoints): endpoints
            }
        }

        /// `host:port`, separated by commas.
        public var description: String { endpoints.map(\.description).joined(separator: ",") }
    }

    /// Where the servers are.
    public var target: Target
    /// What both sides must hold. It never travels.
    public var clusterSecret: String
    /// The service it wants: a server that says it is another one is refused, and tried again, like one that cannot be reached. Addresses change hands
    /// where instances come and go, while every service of a cluster holds the same secret. Nil takes any.
    public var service: String?
    /// Encryption; nil is plain TCP.
    public var tls: TLSConfiguration?
    /// The name the server's certificate must have. Nil: the host of a ``Target/dns(host:port:)`` target, if it is a name.
    public var tlsServerName: String?
    /// Longest time from the start of connecting to the end of the opening; also the longest wait for an answer to the first look-up.
    public var connectTimeout: Duration = .seconds(3)
    /// Calls of all connections together. One more fails at once as overloaded.
    public var maxCallsInFlight = 4096
    /// Connections to each address. One is enough unless an event loop is the bottleneck.
    public var connectionsPerAddress = 1
    /// How often names are looked up again.
    public var resolveInterval: Duration = .seconds(5)
    /// Waits before reconnecting.
    public var backoff = Backoff(initial: .milliseconds(50), maximum: .seconds(2))
    /// Greatest length of a frame, and so, less 35 bytes, of a request.
    public var maxFrameBytes = 4 << 20
    /// Greatest length of an answer, which may travel in many frames.
    public var maxAnswerBytes = 64 << 20
    /// Bytes of long answers that are arriving, all together. A call whose answer would go over it fails as overloaded; one alone never does.
    public var maxArrivingBytes = 256 << 20
    /// Bytes of requests that may wait for one socket. A call that would go over it fails as overloaded.
    public var maxQueuedBytes = 32 << 20
    /// After this time without a byte from a server it is asked for a sign of life.
    public var pingInterval: Duration = .seconds(1)
    /// Further intervals without a byte before the connection is given up.
    public var pingMisses = 2
    /// How long calls in flight may still take when the client shuts down, or an address vanishes from its name.
    public var drainTimeout: Duration = .seconds(10)
    /// Label of the metrics that tell clients of one process apart.
    public var name: String
    /// Label of a method in metrics.
    public var methodName: @Sendable (RPCMethod) -> String = { $0.description }

    /// A configuration with the defaults above.
    public init(
        target: Target, clusterSecret: String, tls: TLSConfiguration? = nil, connectTimeout: Duration = .seconds(3), maxCallsInFlight: Int = 4096,
        connectionsPerAddress: Int = 1, resolveInterval: Duration = .seconds(5),
        backoff: Backoff = Backoff(initial: .milliseconds(50), maximum: .seconds(2)), name: String? = nil
    ) {
        self.target = target
        self.clusterSecret = clusterSecret
        self.tls = tls
        self.connectTimeout = connectTimeout
        self.maxCallsInFlight = maxCallsInFlight
        self.connectionsPerAddress = connectionsPerAddress
        self.resolveInterval = resolveInterval
        self.backoff = backoff
        self.name = name ?? target.description
    }
}

extension RPCClientConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves the cluster secret out: code that holds a configuration and knows nothing of the secret may print the whole value.
    public var description: String { "RPCClientConfiguration(target: \(target), name: \(name))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
