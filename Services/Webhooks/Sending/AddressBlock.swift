// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A range of IP addresses, such as `10.0.0.0/8` or `fc00::/7`.
public struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
    /// The address, 4 or 16 bytes.
    private let bytes: [UInt8]
    private let length: Int
    /// The text from which the block was read.
    public let description: String

    /// Reads an address and a prefix length in bits. Without a length, the block is the single address.
    /// - Returns: nil for any other text.
    public init?(_ text: String) {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(sides.count), let bytes = IPAddress(String(sides[0]))?.bytes else { return nil }
        var length = bytes.count * 8
        if sides.count == 2 {
            guard let given = Int(sides[1]), (0...length).contains(given) else { return nil }
            length = given
        }
        self.bytes = bytes
        self.length = length
        description = text
    }

    func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == bytes.count else { return false }
        let whole = length / 8
        guard address.bytes[..<whole] == bytes[..<whole] else { return false }
        let rest = length % 8
        return rest == 0 || (address.bytes[whole] ^ bytes[whole]) >> UInt8(8 - rest) == 0
    }
}

struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address in network byte order, 4 or 16 bytes. An IPv4-mapped IPv6 address is stored as IPv4.
    let bytes: [UInt8]

    /// - Returns: nil unless the text is an address in its usual form.
    init?(_ text: String) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(withUnsafeBytes(of: &v4) { Array($0) })
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(withUnsafeBytes(of: &v6) { Array($0) })
        } else {
            return nil
        }
    }

    /// - Parameter bytes: 4 or 16 bytes.
    init(_ bytes: [UInt8]) {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
        self.bytes = bytes.count == 16 && Array(bytes[..<12]) == mapped ? Array(bytes[12...]) : bytes
    }

    var description: String {
        var raw = bytes
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = raw.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, &raw, &text, socklen_t(INET6_ADDRSTRLEN)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The addresses that the service may connect to: all public addresses, and those that the operator allows.
struct AddressPolicy: Sendable {
    let allowed: [AddressBlock]

    /// Special-purpose addresses: loopback, private, link-local, carrier-grade NAT, documentation, benchmarking,
    /// multicast, reserved, and IPv6 forms that lead to IPv4 addresses. From the IANA registries of special-purpose
    /// addresses (RFC 6890 and its updates).
    private static let special: [AddressBlock] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
        "2002::/16", "3fff::/20", "5f00::/16",
        "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ]
    .compactMap { AddressBlock($0) }

    func admits(_ address: IPAddress) -> Bool {
        if allowed.contains(where: { $0.contains(address) }) { return true }
        return !Self.special.contains { $0.contains(address) }
    }
}
