// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A request and its answer over a plain TCP connection to this machine.
enum LoopbackExchange {
    /// Connects to 127.0.0.1, writes a request, and reads the answer. The read ends when the answer contains `mark`,
    /// the peer closes, or no byte arrives for one second.
    /// - Returns: The bytes that were read; empty if nothing answered.
    static func send(port: Int, _ request: String, until mark: String) async -> String {
        await withCheckedContinuation { continuation in
            startThread { continuation.resume(returning: sendBlocking(port: port, request, until: mark)) }
        }
    }

    private static func sendBlocking(port: Int, _ request: String, until mark: String) -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, let number = UInt16(exactly: port) else { return "" }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = number.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
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
