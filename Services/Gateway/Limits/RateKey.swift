// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore

/// The owner of a token bucket: a session, a client address, or a token of an app's own server.
struct RateKey: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter tokenDigest: the SHA-256 digest of the session token. The first half suffices to distinguish
    ///   sessions.
    init(tokenDigest: [UInt8]) {
        self.init(high: Self.number(tokenDigest.prefix(8)), low: Self.number(tokenDigest.dropFirst(8).prefix(8)))
    }

    /// - Parameter token: the id of an app's server token.
    init(token: UUID) {
        self = withUnsafeBytes(of: token.uuid) {
            Self(high: Self.number(Array($0[..<8])[...]), low: Self.number(Array($0[8...])[...]))
        }
    }

    /// Makes the key of an IPv4 address, or of the /64 network of an IPv6 address. One subscriber can use any number of
    /// addresses in such a network.
    init(_ address: SocketAddress?) {
        // The address bytes follow the family and port, and in IPv6 also the flow information.
        switch address {
        case .v4(let v4): self.init(v4: withUnsafeBytes(of: v4.address) { Array($0[4..<8]) })
        case .v6(let v6): self.init(v6: withUnsafeBytes(of: v6.address) { Array($0[8..<24]) })
        default: self.init(high: 0, low: 0)
        }
    }

    /// Parses an address as written by a proxy: with or without a port, and with brackets around an IPv6 address. nil
    /// for anything else.
    init?(address text: some StringProtocol) {
        var host = String(text)
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            host = String(host[host.index(after: host.startIndex)..<end])
        } else if host.count(where: { $0 == ":" }) == 1, let colon = host.firstIndex(of: ":") {
            host = String(host[..<colon])
        }
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return nil }
        self.init(address)
    }

    private init(v4 bytes: [UInt8]) { self.init(high: 4, low: Self.number(bytes[...])) }

    private init(v6 bytes: [UInt8]) {
        // An IPv4-mapped IPv6 address is the same client as its IPv4 address.
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
            self.init(v4: Array(bytes[12...]))
        } else {
            self.init(high: 6, low: Self.number(bytes.prefix(8)))
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
