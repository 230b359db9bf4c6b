// SPDX-License-Identifier: Apache-2.0

/// A host name or address with a port, not yet resolved.
public struct RPCEndpoint: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// A DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The TCP port.
    public let port: Int

    /// Creates an endpoint.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port` or `[v6 address]:port`. Returns nil for anything else, or if the port is not in 1...65535.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Parses `host:port`. An invalid literal becomes a name with port 0, to which connections always fail.
    public init(stringLiteral value: String) {
        self = RPCEndpoint(value) ?? RPCEndpoint(host: value, port: 0)
    }

    /// The endpoint as `host:port`, with brackets around an IPv6 address.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
