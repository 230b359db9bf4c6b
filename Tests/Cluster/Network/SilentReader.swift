// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix

/// A connection that sends a request and does not read the answer, like a hanging or hostile client.
package final class SilentReader: Sendable {
    private let channel: any Channel

    private init(_ channel: any Channel) { self.channel = channel }

    /// The size of the kernel's receive buffer in bytes. The rest of the answer stays in the server.
    private static let receiveBuffer = 16_384

    /// Opens a connection and sends bytes.
    /// - Parameters:
    ///   - url: The URL of a gateway, without TLS.
    ///   - bytes: The bytes to send at once.
    /// - Returns: nil if no server answers at `url`, or if it requires TLS.
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

    /// Closes the connection with all data that was not read.
    package func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    /// Returns the bytes of a REST request, for ``open(_:saying:)``.
    package static func request(_ path: String, token: String) -> [UInt8] {
        Array(
            ("GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.layer+json; version=3.0\r\n"
                + "Authorization: Layer session-token=\"\(token)\"\r\n\r\n")
                .utf8)
    }

    /// Returns the bytes of a WebSocket handshake and of its first packet, which must be shorter than 64 KB.
    package static func socket(saying packet: String, token: String) -> [UInt8] {
        let head =
            "GET /?session_token=\(token) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: layer-3.0\r\n\r\n"
        let length = UInt16(clamping: packet.utf8.count)
        // A mask of zeros leaves the packet unchanged.
        return Array(head.utf8) + [0x81, 0x80 | 126, UInt8(length >> 8), UInt8(length & 0xff), 0, 0, 0, 0]
            + Array(packet.utf8)
    }
}
