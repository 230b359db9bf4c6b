// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NetKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A resolver that returns all addresses of a name. The system's resolver blocks, so it runs on a dedicated thread.
struct RPCResolver: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let host: String
        let code: Int32
        var description: String { "cannot resolve \(host): \(String(cString: gai_strerror(code)))" }
    }

    private let threads: NIOThreadPool

    init(threads: NIOThreadPool) {
        self.threads = threads
    }

    /// Returns all addresses in the resolver's order. Returns immediately when the task is cancelled, even while the
    /// system's resolver is blocked.
    func addresses(of endpoint: RPCEndpoint) async throws -> [SocketAddress] {
        if let literal = try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port) { return [literal] }
        let found = Latch<[SocketAddress]>()
        threads.submit { state in
            guard state == .active else { return found.settle(.failure(CancellationError())) }
            found.settle(Result { try RPCResolver.lookUp(endpoint) })
        }
        return try await found.value()
    }

    private static func lookUp(_ endpoint: RPCEndpoint) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard code == 0 else { throw Failure(host: endpoint.host, code: code) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = socketAddress(entry.pointee), !found.contains(address) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }

    private static func socketAddress(_ entry: addrinfo) -> SocketAddress? {
        guard let raw = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET: return SocketAddress(UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: return SocketAddress(UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
    }
}
