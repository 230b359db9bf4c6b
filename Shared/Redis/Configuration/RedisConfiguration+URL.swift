// SPDX-License-Identifier: Apache-2.0

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
