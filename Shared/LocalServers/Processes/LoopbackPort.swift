// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization

/// TCP ports of 127.0.0.1.
public enum LoopbackPort {
    /// Returns a port that no process listens on at this moment and that this process has not returned before. A caller
    /// that starts several servers requests all their ports first.
    ///
    /// Another process may take the port before the server does. The caller then tries again with another port.
    ///
    /// The port lies below the system's range for outgoing connections. A restarted server therefore does not find its
    /// port taken by an outgoing connection.
    public static func free() throws -> Int {
        let highest = min(firstEphemeral, 65_536) - 1
        if highest > lowest {
            for _ in 0..<500 {
                let candidate = Int.random(in: lowest...highest)
                if isFree(candidate), given.withLock({ $0.insert(candidate).inserted }) { return candidate }
            }
        }
        // If that range leaves no lower ports, the system chooses the port.
        for _ in 0..<500 {
            if let port = bound(to: 0, host: "127.0.0.1"), given.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw LocalServerError(.spawnFailed, "No free port on 127.0.0.1")
    }

    /// Returns several free ports, all different.
    public static func free(_ count: Int) throws -> [Int] {
        try (0..<count).map { _ in try free() }
    }

    /// Starts a server on a free port, and retries on another port if another process took the first one.
    /// - Returns: The port, and the result of `start`.
    /// - Throws: The error of `start`, if its cause was not the port.
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

    /// The ports returned by ``free()``.
    private static let given = Mutex<Set<Int>>([])
    private static let lowest = 10_240

    /// The first port of the system's range for outgoing connections.
    private static var firstEphemeral: Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        return text?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 32_768
    }

    /// Returns true if a server could listen on this port now.
    /// - Parameters:
    ///   - port: 1 to 65535.
    ///   - host: An IPv4 address of this machine; `0.0.0.0` means all of them.
    public static func isFree(_ port: Int, host: String = "127.0.0.1") -> Bool {
        bound(to: port, host: host) != nil
    }

    /// Binds a socket as servers do and closes it. `SO_REUSEADDR` ignores connections in `TIME_WAIT`.
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

/// A request and its answer over a plain TCP connection to a private server.
enum LocalExchange {
    /// Connects to an IPv4 address, writes a request, and reads the answer. The read ends when the answer contains
    /// `mark`, the peer closes, or no byte arrives for one second.
    /// - Returns: The bytes that were read; empty if nothing answered.
    static func send(to host: String, port: Int, _ request: String, until mark: String) async -> String {
        await withCheckedContinuation { continuation in
            startThread { continuation.resume(returning: sendBlocking(to: host, port: port, request, until: mark)) }
        }
    }

    private static func sendBlocking(to host: String, port: Int, _ request: String, until mark: String) -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, let number = UInt16(exactly: port) else { return "" }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = number.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let bytes = Array(request.utf8)
        guard connected == 0, Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            return ""
        }
        var answer = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !answer.contains(mark) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return answer
    }
}
