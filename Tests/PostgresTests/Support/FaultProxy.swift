// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
private let acceptConnection = Glibc.accept
private let closeDescriptor = Glibc.close
#else
import Darwin
private let acceptConnection = Darwin.accept
private let closeDescriptor = Darwin.close
#endif

/// A TCP proxy on a free port of the loopback interface that can cut, stall and refuse connections.
final class FaultProxy: Sendable {
    private struct State {
        var sockets: [Int32] = []
        var isStalled = false
        var isRefusing = false
        var isClosed = false
    }

    let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    /// Starts forwarding to a port of the loopback interface.
    init(to target: UInt16) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        let thread = Thread { [self] in accept() }
        thread.start()
    }

    func cut() {
        state.withLock { state in
            for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// Sets whether new connections are closed at once.
    func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

    /// Sets whether bytes are discarded in both directions.
    func stall(_ isStalled: Bool) { state.withLock { $0.isStalled = isStalled } }

    func close() {
        state.withLock { $0.isClosed = true }
        cut()
        _ = shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func accept() {
        while true {
            let client = acceptConnection(listener, nil, nil)
            guard client >= 0 else { break }
            if state.withLock({ $0.isRefusing || $0.isClosed }) {
                _ = closeDescriptor(client)
                continue
            }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.loopback(target)
            let connected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard connected == 0 else {
                _ = closeDescriptor(client)
                _ = closeDescriptor(server)
                continue
            }
            state.withLock { $0.sockets += [client, server] }
            Thread { [self] in copy(client, server) }.start()
            Thread { [self] in copy(server, client) }.start()
        }
        _ = closeDescriptor(listener)
    }

    private func copy(_ source: Int32, _ target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if state.withLock({ $0.isStalled }) { continue }
            var sent = 0
            while sent < count {
                let step = buffer.withUnsafeBytes {
                    send(target, $0.baseAddress.map { $0 + sent }, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { break }
                sent += step
            }
        }
        // Keep the descriptors open until the process ends, so that none is reused while the other thread uses it.
        _ = shutdown(source, Int32(SHUT_RDWR))
        _ = shutdown(target, Int32(SHUT_RDWR))
    }
}
