// SPDX-License-Identifier: Apache-2.0

/// The address of a Redis server.
public struct RedisEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The DNS name or IP address, without brackets.
    public var host: String
    /// The TCP port.
    public var port: Int

    /// Creates an endpoint.
    public init(host: String, port: Int = 6379) {
        self.host = host
        self.port = port
    }

    /// The endpoint as `host:port`, with an IPv6 address in brackets.
    public var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Parses `host`, `host:port`, `[ipv6]` or `[ipv6]:port`. Returns nil for anything else.
    init?(parsing text: some StringProtocol) {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            self.init(
                host: text[text.index(after: text.startIndex)..<end], portText: rest.isEmpty ? nil : rest.dropFirst())
        } else if let colon = text.lastIndex(of: ":") {
            guard text.firstIndex(of: ":") == colon else { return nil }
            self.init(host: text[..<colon], portText: text[text.index(after: colon)...])
        } else {
            self.init(host: text, portText: Optional<Substring>.none)
        }
    }

    private init?(host: some StringProtocol, portText: (some StringProtocol)?) {
        guard !host.isEmpty else { return nil }
        guard let portText else {
            self.init(host: String(host))
            return
        }
        guard let port = Int(portText), (1...65535).contains(port) else { return nil }
        self.init(host: String(host), port: port)
    }
}
