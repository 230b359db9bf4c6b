// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// A proxy between a service and Redis that loses every nth publication, by publishing it on a channel without
/// subscribers.
package final class LossyPublications: Sendable {
    package let port: Int
    private let channel: any Channel
    private let count: Publications

    private init(port: Int, channel: any Channel, count: Publications) {
        self.port = port
        self.channel = channel
        self.count = count
    }

    package var lost: Int { count.lost.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - redis: The Redis port on 127.0.0.1.
    ///   - nth: The interval of lost publications.
    package static func start(to redis: Int, every nth: Int) async throws -> LossyPublications {
        let count = Publications(nth: nth)
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .connect(host: "127.0.0.1", port: redis)
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandler(Glue(to: server, count))
                        try server.pipeline.syncOperations.addHandler(Glue(to: client, nil))
                        for channel in [client, server] {
                            channel.setOption(.autoRead, value: true).whenComplete { _ in }
                        }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = channel.localAddress?.port else { throw NetworkError("no port") }
        return LossyPublications(port: port, channel: channel, count: count)
    }

    package func stop() async { try? await channel.close() }
}

private final class Publications: Sendable {
    let nth: Int
    private let seen = Atomic<Int>(0)
    let lost = Atomic<Int>(0)

    init(nth: Int) { self.nth = nth }

    var isNextLost: Bool {
        guard seen.add(1, ordering: .relaxed).newValue.isMultiple(of: nth) else { return false }
        lost.add(1, ordering: .relaxed)
        return true
    }
}

/// A handler that forwards data from one channel to the other. Both share one event loop.
private final class Glue: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let count: Publications?
    /// Bytes that may be the beginning of a publication.
    private var tail = ByteBuffer()
    private static let command = Array("SPUBLISH\r\n$".utf8)

    init(to other: any Channel, _ count: Publications?) {
        self.other = other
        self.count = count
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard let count else { return other.writeAndFlush(bytes, promise: nil) }
        tail.writeBuffer(&bytes)
        var text = Array(tail.readableBytesView)
        tail.clear()
        var index = 0
        while let found = Self.find(in: text, from: index) {
            guard let line = text[found...].firstIndex(of: UInt8(ascii: "\n")), line + 1 < text.count else {
                tail.writeBytes(text[(found - Self.command.count)...])
                text.removeSubrange((found - Self.command.count)...)
                break
            }
            if text[line + 1] == UInt8(ascii: "c"), count.isNextLost { text[line + 1] = UInt8(ascii: "x") }
            index = line + 1
        }
        other.writeAndFlush(ByteBuffer(bytes: text), promise: nil)
    }

    /// Returns the index after the next command. A command split within its first bytes is not recognized.
    private static func find(in text: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + command.count <= text.count {
            if text[index] == command[0], text[index..<index + command.count].elementsEqual(command) {
                return index + command.count
            }
            index += 1
        }
        return nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
