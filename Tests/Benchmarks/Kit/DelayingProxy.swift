// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix

/// A TCP proxy on the loopback interface that delays all data, to simulate a distant network.
struct DelayingProxy: Sendable {
    private let listener: any Channel

    var port: Int { listener.localAddress?.port ?? 0 }

    /// Starts a proxy that forwards to a loopback port.
    /// - Parameter delay: The delay in each direction; a round trip takes twice as long.
    static func start(to target: Int, delay: TimeAmount, on group: any EventLoopGroup) async throws -> DelayingProxy {
        let listener = try await ServerBootstrap(group: group).serverChannelOption(.backlog, value: 64)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).channelOption(.autoRead, value: false)
                    .connect(host: "127.0.0.1", port: target)
                    .flatMap { server in
                        client.eventLoop
                            .makeCompletedFuture {
                                try client.pipeline.syncOperations.addHandler(LateGlue(to: server, delay: delay))
                                try server.pipeline.syncOperations.addHandler(LateGlue(to: client, delay: delay))
                            }
                            .flatMap {
                                server.setOption(.autoRead, value: true).and(client.setOption(.autoRead, value: true))
                                    .map { _ in }
                            }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return DelayingProxy(listener: listener)
    }

    func close() async { try? await listener.close() }
}

/// A handler that forwards data after a delay. Both channels share one event loop, whose timers keep the order.
private final class LateGlue: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let delay: TimeAmount

    init(to other: any Channel, delay: TimeAmount) { (self.other, self.delay) = (other, delay) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let (bytes, other) = (unwrapInboundIn(data), other)
        context.eventLoop.scheduleTask(in: delay) { other.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let other = other
        context.eventLoop.scheduleTask(in: delay) { other.close(promise: nil) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
