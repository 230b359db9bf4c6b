// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import ProtocolClient

/// The protocol client that the demo and these tests use, against a server that stops in the middle of an answer.
@Suite("a server that falls silent")
struct SilentServerTests {
    @Test(
        "a call ends at its deadline wherever the answer stops",
        arguments: [
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"id\"",
        ])
    func call(_ beginning: String) async throws {
        try await withServer(beginning) { client in
            await #expect { try await client.call("GET", "/", deadline: .now + .milliseconds(200)) } throws: { error in
                (error as? ProtocolClientError)?.code == .deadlineExceeded
            }
        }
    }

    @Test(
        "the opening of a socket ends at its deadline wherever the answer stops",
        arguments: ["", "HTTP/1.1 101 Switching Protocols\r\n"])
    func socket(_ beginning: String) async throws {
        try await withServer(beginning) { client in
            await #expect {
                try await client.openSocket(sessionToken: nil, deadline: .now + .milliseconds(200))
            } throws: { error in
                (error as? ProtocolClientError)?.code == .deadlineExceeded
            }
        }
    }

    @Test("a socket whose connection ends while it opens has ended")
    func endedWhileOpening() throws {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let socket = ProtocolSocket(channel: channel, options: .init())
        channel.close(promise: nil)
        // The HTTP handlers are removed one loop turn after the answer. Only then is this handler added.
        try channel.pipeline.syncOperations.addHandler(SocketHandler(socket: socket))
        #expect(socket.closure == nil)
        channel.embeddedEventLoop.run()
        #expect(socket.closure != nil)
    }

    /// Runs `body` with a server that answers everything with `beginning` and then stays silent.
    private func withServer(_ beginning: String, _ body: (ProtocolClient) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Beginning(beginning))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = try ProtocolClient(baseURL: "http://127.0.0.1:\(server.localAddress?.port ?? 0)")
        do {
            try await body(client)
        } catch {
            try? await client.shutdown()
            try? await server.close()
            throw error
        }
        try await client.shutdown()
        try await server.close()
    }
}

private final class Beginning: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let text: String

    init(_ text: String) { self.text = text }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
}
