// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// TCP ports of 127.0.0.1.
public enum LoopbackPort {
    /// A port that no process listens on at this moment, and that was not given out in this process before: a caller that starts several servers asks
    /// for all their ports first. Another process may take the port before the server does; a caller that starts a server on it then tries again with
    /// another port.
    ///
    /// It lies below the range the system takes the near ends of outgoing connections from: a server that is restarted on its port must not find it
    /// taken by another connection.
    public static func free() throws -> Int {
        let highest = min(firstEphemeral, 65_536) - 1
        if highest > lowest {
            for _ in 0..<500 {
                let candidate = Int.random(in: lowest...highest)
                if isFree(candidate), given.withLock({ $0.insert(candidate).inserted }) { return candidate }
            }
        }
        // Where that range leaves nothing below it, the system chooses.
        for _ in 0..<500 {
            if let port = bound(to: 0, host: "127.0.0.1"), given.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw LocalServerError(.spawnFailed, "No free port on 127.0.0.1")
    }

    /// Several free ports, no two the same.
    public static func free(_ count: Int) throws -> [Int] {
        try (0..<count).map { _ in try free() }
    }

    /// Starts a server on a free port, and on another one if another process was faster to take it.
    /// - Returns: the port, and what `start` returned for it.
    /// - Throws: what `start` threw, if that was not because of the port.
    static func withFree<Server>(_ start: (Int) async throws -> Server) async throws -> (Int, Server) {
        for _ in 0..<4 {
            let port = try free()
            do {
                return (port, try await start(port))
            } catch {
                if error is CancellationError || isFree(port) { throw error }
            }
        }
        let port = try free()
        return (port, try await start(port))
    }

    /// By ``free()``.
    private static let given = Mutex<Set<Int>>([])
    private static let lowest = 10_240

    /// Where the system's range of ports for outgoing connections begins.
    private static var firstEphemeral: Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        return text?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 32_768
    }

    /// Whether a server could listen on this port now.
    /// - Parameters:
    ///   - port: 1 to 65535.
    ///   - host: an IPv4 address of this machine; `0.0.0.0` is all of them.
    public static func isFree(_ port: Int, host: String = "127.0.0.1") -> Bool {
        bound(to: port, host: host) != nil
    }

    /// Binds a socket as servers do (`SO_REUSEADDR`, so that connections in `TIME_WAIT` do not count), and gives it back.
    private static func bound(to port: Int, host: String) -> Int? {
        guard let number = UInt16(exactly: port) else { return nil }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = number.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0, listen(descriptor, 1) == 0 else { return Int32(-1) }
                return getsockname(descriptor, generic, &length)
            }
        }
        return code == 0 ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
}
