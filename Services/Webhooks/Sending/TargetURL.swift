// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel

/// The URL of a receiver, restricted to a form that all parsers read in the same way. So the host that is checked is
/// the host that is called.
struct TargetURL: Hashable, Sendable {
    let isSecure: Bool
    /// The host in lower case. An IPv6 address has no brackets.
    let host: String
    let port: Int
    /// The path and the query, with a leading slash.
    let resource: String

    /// - Parameter allowsHTTP: true if a receiver without TLS may be called.
    /// - Throws: ``StrataModel/Failure`` that names `target_url`.
    init(_ text: String, allowsHTTP: Bool) throws(Failure) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), var host = parts.host,
            !host.isEmpty
        else {
            throw .invalid("target_url", reason: "is not a URL such as https://example.org/hook")
        }
        guard scheme == "https" || scheme == "http" && allowsHTTP else {
            throw .invalid(
                "target_url", reason: allowsHTTP ? "must begin with https:// or http://" : "must begin with https://")
        }
        guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
            throw .invalid("target_url", reason: "must have neither a user nor a fragment")
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        host = host.lowercased()
        let isName = host.utf8.allSatisfy {
            (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f
        }
        guard isName && host.utf8.count <= 253 || IPAddress(host) != nil else {
            throw .invalid("target_url", reason: "has a host that is neither a name in ASCII nor an address")
        }
        if let port = parts.port, !(1...65_535).contains(port) {
            throw .invalid("target_url", reason: "has an invalid port")
        }
        isSecure = scheme == "https"
        self.host = host
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        resource = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
        guard resource.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw .invalid("target_url", reason: "has a character that must be percent-encoded")
        }
    }

    /// The URL in its canonical form, with an explicit port.
    var text: String {
        "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(resource)"
    }

    func adding(_ name: String, _ value: String) -> String {
        "\(text)\(resource.contains("?") ? "&" : "?")\(name)=\(value)"
    }

    /// The host and port of the receiver, the key for limits and connections.
    var authority: String { "\(host):\(port)" }
}
