// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix

/// A connection that asks for something and does not read what it is answered, as a client does that hangs, or means harm.
package final class SilentReader: Sendable {
    private let channel: any Channel

    private init(_ channel: any Channel) { self.channel = channel }

    /// Bytes that the kernel may hold for it: the rest waits at the server.
    private static let receiveBuffer = 16_384

    /// - Parameters:
    ///   - url: of a gateway, without TLS.
    ///   - bytes: what it says, all at once.
    /// - Returns: nil if no server answers at `url`, or only behind TLS.
    package static func open(_ url: String, saying bytes: [UInt8]) async -> SilentReader? {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let host = parts.host else { return nil }
        let channel = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
            .connect(host: host, port: parts.port ?? 80).get()
        guard let channel else { return nil }
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        return SilentReader(channel)
    }

    /// Drops the connection, with all that waits for it.
    package func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    /// A request of REST, for ``open(_:saying:)``.
    package static func request(_ path: String, token: String) -> [UInt8] {
        Array(
            ("GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.layer+json; version=3.0\r\n"
                + "Authorization: Layer session-token=\"\(token)\"\r\n\r\n")
                .utf8)
    }

    /// The opening of a socket, and the first packet on it, of less than 64 KB.
    package static func socket(saying packet: String, token: String) -> [UInt8] {
        let head =
            "GET /?session_token=\(token) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: layer-3.0\r\n\r\n"
        let length = UInt16(clamping: packet.utf8.count)
        // A mask of zeros leaves the packet as it is.
        return Array(head.utf8) + [0x81, 0x80 | 126, UInt8(length >> 8), UInt8(length & 0xff), 0, 0, 0, 0] + Array(packet.utf8)
    }
}
