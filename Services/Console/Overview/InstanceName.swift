// SPDX-License-Identifier: Apache-2.0
import NIOPosix
public import RPC

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The admin port of all instances of one kind of process: a name, each address of which is one instance.
public struct InstanceName: Hashable, Sendable {
    /// The kind of process, for example `gateway`.
    public let kind: String
    /// The name and the port.
    public let endpoint: RPCEndpoint

    /// Parses `kind=host:port`. Returns nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
            let endpoint = RPCEndpoint(String(parts[1]))
        else { return nil }
        kind = String(parts[0])
        self.endpoint = endpoint
    }

    /// Returns one endpoint for each address of the name.
    /// - Throws: ``UnknownName`` if the name has no address.
    func addresses() async throws -> [RPCEndpoint] {
        let host = endpoint.host
        let found = try await NIOThreadPool.singleton.runIfActive { try Self.addresses(of: host) }
        return found.map { RPCEndpoint(host: $0, port: endpoint.port) }
    }

    struct UnknownName: Error {}

    /// Returns the numeric addresses of a host, without duplicates. Blocks the thread.
    private static func addresses(of host: String) throws -> [String] {
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0, let head = first else { throw UnknownName() }
        defer { freeaddrinfo(head) }
        var found: [String] = []
        for info in sequence(first: head, next: { $0.pointee.ai_next }) {
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let code = getnameinfo(
                info.pointee.ai_addr, info.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if code == 0, !found.contains(text) { found.append(text) }
        }
        return found
    }
}
