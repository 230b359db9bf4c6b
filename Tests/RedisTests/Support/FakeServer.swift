// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Redis
import Synchronization

/// A TCP server that greets like Redis and then follows the test's script.
final class FakeServer: Sendable {
    /// The server's reaction to a read. In a text, `PORT` stands for the server's port.
    enum Reaction: Sendable {
        case nothing
        case send(String)
        case sendAndClose(String)
    }

    let endpoint: RedisEndpoint
    private let connectionCount: Counter

    fileprivate final class Counter: Sendable {
        let count = Atomic(0)
    }

    private init(port: Int, counter: Counter) {
        endpoint = RedisEndpoint(host: "127.0.0.1", port: port)
        connectionCount = counter
    }

    var connections: Int { connectionCount.count.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - greeting: The reaction to a connection's first read.
    ///   - reaction: The reaction to further reads, by the number of the connection, from 1, and of the read, from 0.
    static func with<Result>(
        greeting: Reaction = .send("+PONG\r\n"),
        reaction: @escaping @Sendable (_ connection: Int, _ read: Int) -> Reaction,
        _ body: nonisolated(nonsending) (FakeServer) async throws -> Result
    ) async throws -> Result {
        let counter = Counter()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = counter.count.add(1, ordering: .relaxed).newValue
                    try channel.pipeline.syncOperations.addHandler(
                        FakeHandler(greeting: greeting) { reaction(number, $0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(FakeServer(port: channel.localAddress?.port ?? 0, counter: counter))
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }
}

private final class FakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let greeting: FakeServer.Reaction
    private let reaction: @Sendable (Int) -> FakeServer.Reaction
    private var reads = -1

    init(greeting: FakeServer.Reaction, reaction: @escaping @Sendable (Int) -> FakeServer.Reaction) {
        self.greeting = greeting
        self.reaction = reaction
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        defer { reads += 1 }
        switch reads < 0 ? greeting : reaction(reads) {
        case .nothing: break
        case .send(let text): write(text, context)
        case .sendAndClose(let text):
            write(text, context)
            context.close(promise: nil)
        }
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        let port = "\(context.localAddress?.port ?? 0)"
        let words = text.split(separator: "PORT", omittingEmptySubsequences: false)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words.joined(separator: port))), promise: nil)
    }
}
