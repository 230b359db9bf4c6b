// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Name resolution by the operating system.
enum NameResolution {
    struct UnknownName: Error {}

    /// Returns all addresses of a name, in the order of preference. Blocks the thread.
    /// - Throws: ``UnknownName`` if the system finds no address.
    static func addresses(of host: String) throws -> [IPAddress] {
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0, let head = first else { throw UnknownName() }
        defer { freeaddrinfo(head) }
        var addresses: [IPAddress] = []
        for info in sequence(first: head, next: { $0.pointee.ai_next }) {
            guard let socket = info.pointee.ai_addr else { continue }
            let address: IPAddress
            switch info.pointee.ai_family {
            case AF_INET:
                address = socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
                    var bytes = v4.pointee.sin_addr
                    return IPAddress(withUnsafeBytes(of: &bytes) { Array($0) })
                }
            case AF_INET6:
                address = socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
                    var bytes = v6.pointee.sin6_addr
                    return IPAddress(withUnsafeBytes(of: &bytes) { Array($0) })
                }
            default: continue
            }
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
