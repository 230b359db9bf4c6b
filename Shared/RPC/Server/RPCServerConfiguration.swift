// SPDX-License-Identifier: Apache-2.0

public import NIOSSL

/// The configuration of a server: its address and its limits.
public struct RPCServerConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port; 0: any free port, see ``RPCServer/boundPort``.
    public var port: Int
    /// The secret that both sides must hold. It is never transmitted.
    public var clusterSecret: String
    /// The name of the service for clients that verify it: at most 64 bytes; nil: not sent.
    public var service: String?
    /// The TLS configuration; nil: plain TCP.
    public var tls: TLSConfiguration?
    /// The maximum number of running handlers on all connections: default 4096. A further request fails as overloaded.
    public var maxCallsInFlight: Int
    /// The maximum size of requests with running handlers and of unsent long responses, on all connections, in bytes:
    /// default 256 MiB. A request that exceeds it fails as overloaded.
    public var maxBytesInFlight = 256 << 20
    /// The maximum size of a frame in bytes: default 4 MiB.
    public var maxFrameBytes: Int
    /// The maximum size of a response in bytes, possibly in several frames: default 64 MiB.
    public var maxAnswerBytes: Int
    /// The maximum time for calls in flight after a graceful shutdown has begun: default 20 s.
    public var drainTimeout: Duration
    /// The maximum number of connections, unauthenticated ones included: default 4096.
    public var maxConnections = 4096
    /// The maximum time for a peer to prove that it holds the cluster secret: default 5 s.
    public var helloTimeout: Duration = .seconds(5)
    /// The time without data from a client after which a ping is sent: default 3 s. It is longer than for clients,
    /// because waiting costs a server nothing, and because clients ping first.
    public var pingInterval: Duration = .seconds(3)
    /// The number of further intervals without receiving or sending data after which the connection is closed: default
    /// 2.
    public var pingMisses = 2
    /// The size of the pieces of a long response in bytes: default 256 KiB. Short responses can be sent between two
    /// pieces.
    public var partBytes = 256 << 10
    /// A function that returns the label of a method in metrics.
    public var methodName: @Sendable (RPCMethod) -> String = { $0.description }

    /// Creates a configuration. Other values have the defaults above.
    public init(
        host: String = "0.0.0.0", port: Int, clusterSecret: String, tls: TLSConfiguration? = nil,
        maxCallsInFlight: Int = 4096,
        maxFrameBytes: Int = 4 << 20, maxAnswerBytes: Int = 64 << 20, drainTimeout: Duration = .seconds(20)
    ) {
        self.host = host
        self.port = port
        self.clusterSecret = clusterSecret
        self.tls = tls
        self.maxCallsInFlight = maxCallsInFlight
        self.maxFrameBytes = maxFrameBytes
        self.maxAnswerBytes = maxAnswerBytes
        self.drainTimeout = drainTimeout
    }
}

extension RPCServerConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the cluster secret, so that code can safely print the configuration.
    public var description: String { "RPCServerConfiguration(host: \(host), port: \(port))" }
    /// The ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` does not reveal the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
