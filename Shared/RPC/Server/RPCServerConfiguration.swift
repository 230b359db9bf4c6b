// SPDX-License-Identifier: Apache-2.0

public import NIOSSL

/// Where a server listens, and the bounds it keeps.
public struct RPCServerConfiguration: Sendable {
    /// Address or name to listen at.
    public var host: String
    /// Port; 0 takes a free one, see ``RPCServer/boundPort``.
    public var port: Int
    /// What both sides must hold. It never travels.
    public var clusterSecret: String
    /// What it serves, for clients that insist on it; at most 64 bytes. Nil says nothing.
    public var service: String?
    /// Encryption; nil is plain TCP.
    public var tls: TLSConfiguration?
    /// Handlers running at once, of all connections together. A request over it is answered as overloaded.
    public var maxCallsInFlight: Int
    /// Bytes of requests whose handlers run, and of long answers on their way, of all connections together. A request over it is answered as overloaded.
    public var maxBytesInFlight = 256 << 20
    /// Greatest length of a frame.
    public var maxFrameBytes: Int
    /// Greatest length of an answer, which travels in as many frames as it needs.
    public var maxAnswerBytes: Int
    /// How long calls in flight may still take after a graceful shutdown has begun.
    public var drainTimeout: Duration
    /// Connections at once, strangers included.
    public var maxConnections = 4096
    /// How long a peer may take to prove that it knows the cluster secret.
    public var helloTimeout: Duration = .seconds(5)
    /// After this time without a byte from a client it is asked for a sign of life.
    public var pingInterval: Duration = .seconds(1)
    /// Further intervals without a byte, or without taking one, before the connection is given up. More patient than clients are: a server
    /// loses nothing by waiting.
    public var pingMisses = 8
    /// Length of the pieces in which a long answer travels. Short answers overtake it between two pieces.
    public var partBytes = 256 << 10
    /// Label of a method in metrics.
    public var methodName: @Sendable (RPCMethod) -> String = { $0.description }

    /// A configuration with these values, and for the rest the defaults above.
    public init(
        host: String = "0.0.0.0", port: Int, clusterSecret: String, tls: TLSConfiguration? = nil, maxCallsInFlight: Int = 4096,
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
    /// Leaves the cluster secret out: code that holds a configuration and knows nothing of the secret may print the whole value.
    public var description: String { "RPCServerConfiguration(host: \(host), port: \(port))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
