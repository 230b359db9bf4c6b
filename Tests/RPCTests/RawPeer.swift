// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

@testable import RPC

/// A peer that sends only what the test defines. It does not answer pings and does not close.
enum RawPeer {
    static func connect(port: Int, _ body: (inout RawPeer.Session) async throws -> Void) async throws {
        let channel = try await ClientBootstrap(group: loops)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        try await channel.executeThenClose { inbound, outbound in
            var session = Session(inbound: inbound.makeAsyncIterator(), outbound: outbound)
            try await body(&session)
        }
    }

    struct Session {
        var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        var reader = RPCFrameReader()

        func send(_ frame: RPCFrame) async throws {
            var buffer = ByteBuffer()
            buffer.writeFrame(frame)
            try await outbound.write(buffer)
        }

        func send(bytes: [UInt8]) async throws {
            try await outbound.write(ByteBuffer(bytes: bytes))
        }

        /// Returns the next frame other than a ping; nil if the other side has closed.
        mutating func next() async throws -> RPCFrame? {
            while true {
                if let frame = try reader.next(limit: 8 << 20) {
                    if frame == .ping { continue }
                    return frame
                }
                do {
                    guard let bytes = try await inbound.next(isolation: #isolation) else { return nil }
                    reader.append(bytes)
                } catch is IOError {
                    return nil
                }
            }
        }

        /// Opens the connection as a client with this secret does.
        mutating func open(secret text: String = secret) async throws -> RPCFrame? {
            var handshake = RPCClientHandshake(secret: RPCSecret(text), nonce: .random())
            guard let challenge = try await next(), case .send(let hello) = handshake.frameReceived(challenge) else {
                return nil
            }
            try await send(hello)
            return try await next()
        }
    }
}
