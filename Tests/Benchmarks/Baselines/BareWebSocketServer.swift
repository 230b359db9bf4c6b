// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A WebSocket server with the handlers that NIO brings, and nothing else: the baseline of an idle connection.
///
/// An empty frame answers each text frame, so that a client knows that its connection is open.
enum BareWebSocketServer {
    /// The argument with which `bench` runs this server.
    static let argument = "bare-websocket-server"

    /// Runs the server until the process ends.
    static func serve(port: Int) async throws {
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AnsweringHandler())
                }
            })
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }

    private final class AnsweringHandler: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        typealias OutboundOut = WebSocketFrame

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard unwrapInboundIn(data).opcode == .text else { return }
            let answer = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer())
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        }
    }
}
