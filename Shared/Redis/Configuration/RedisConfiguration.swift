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

extension RedisConfiguration {
    /// Parses `redis://[user:password@]host[:port][,host[:port]…]`, or the same with `rediss://` for TLS. Other
    /// settings have their defaults.
    ///
    /// With TLS, the URL may have these parameters, named as in redis-py, with percent-encoded values:
    /// - `?ssl_ca_certs=`: a PEM file with the authorities for the server's certificate; default: those of the system.
    /// - `ssl_certfile=` and `ssl_keyfile=`: PEM files of a client certificate.
    /// - `ssl_check_hostname=false`: accepts certificates for other names, as in a cluster whose nodes announce IP
    ///   addresses.
    ///
    /// User and password are percent-decoded. `redis://:password@host` and `redis://password@host` contain no user. A
    /// path other than `/` or `/0` is refused, because a cluster only has database 0.
    ///
    /// - Throws: ``RedisError`` with code ``RedisError/Code/invalidConfiguration``. Its text does not contain the URL,
    ///   which holds a password.
    public init(url: String) throws {
        guard let scheme = url.firstIndex(of: ":"), url[scheme...].hasPrefix("://") else {
            throw RedisError(.invalidConfiguration, "not a URL: expected redis://host:port")
        }
        guard ["redis", "rediss"].contains(url[..<scheme].lowercased()) else {
            throw RedisError(.invalidConfiguration, "unsupported URL scheme: expected redis:// or rediss://")
        }
        let isEncrypted = url[..<scheme].utf8.count == "rediss".utf8.count
        var rest = url[url.index(scheme, offsetBy: 3)...]
        // Parse parameters before credentials, because an @ may be part of a parameter, and a question mark part of a
        // password.
        var parameters: [(name: String, value: String)] = []
        if let mark = Self.parametersMark(rest) {
            guard isEncrypted else { throw RedisError(.invalidConfiguration, "parameters in the URL need rediss://") }
            parameters = try Self.parameters(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        var (username, password): (String?, String?) = (nil, nil)
        if let at = rest.lastIndex(of: "@") {
            (username, password) = try Self.credentials(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        if let slash = rest.firstIndex(of: "/") {
            guard ["/", "/0"].contains(rest[slash...]) else {
                throw RedisError(.invalidConfiguration, "only database 0 can be used: remove the path from the URL")
            }
            rest = rest[..<slash]
        }
        let endpoints = try rest.split(separator: ",", omittingEmptySubsequences: false)
            .map { text in
                guard let endpoint = RedisEndpoint(parsing: text) else {
                    throw RedisError(.invalidConfiguration, "invalid address in the URL: expected host:port")
                }
                return endpoint
            }
        self.init(endpoints: endpoints, username: username, password: password)
        if isEncrypted { tls = try RedisTLS(parameters: parameters) }
    }

    /// Returns the index of the question mark before the parameters: the first one that precedes a parameter name,
    /// otherwise the first one after the credentials.
    private static func parametersMark(_ text: Substring) -> Substring.Index? {
        let marks = text.indices.filter { text[$0] == "?" }
        if let mark = marks.first(where: { text[$0...].dropFirst().hasPrefix("ssl_") }) { return mark }
        let end = text.lastIndex(of: "@") ?? text.startIndex
        return marks.first { $0 >= end }
    }

    private static func parameters(_ text: Substring) throws -> [(name: String, value: String)] {
        try text.split(separator: "&")
            .map { part in
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let decoded = try? pair.map({ try percentDecoded($0) }) else {
                    throw RedisError(.invalidConfiguration, "invalid percent-encoding in the parameters of the URL")
                }
                return (decoded[0], decoded.count == 2 ? decoded[1] : "")
            }
    }

    private static func credentials(_ text: Substring) throws -> (String?, String?) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let decoded = try? parts.map({ try percentDecoded($0) }) else {
            throw RedisError(.invalidConfiguration, "invalid percent-encoding in the credentials of the URL")
        }
        if decoded.count == 2 {
            return (decoded[0].isEmpty ? nil : decoded[0], decoded[1])
        }
        return (nil, decoded[0])
    }

    private static func percentDecoded(_ text: Substring) throws -> String {
        var bytes: [UInt8] = []
        var input = text.utf8.makeIterator()
        while let byte = input.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = input.next().flatMap(hexDigit), let low = input.next().flatMap(hexDigit) else {
                throw RedisError(.invalidConfiguration, "percent-encoding")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw RedisError(.invalidConfiguration, "UTF-8")
        }
        return decoded
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
