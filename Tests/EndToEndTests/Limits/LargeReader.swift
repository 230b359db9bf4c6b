// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import TestCluster

@testable import StrataCommand

/// A client that sends one request and reads the answer either at once or only when told to.
final class LargeReader: Sendable {
    struct Inbox: Sendable {
        var bytes = ByteBuffer()
        var isClosed = false
    }

    /// An answer, read to its end or to the end of the connection.
    struct Answer: Sendable {
        let head: String
        let body: ByteBuffer
        /// False if the connection ended before the answer did.
        let isComplete: Bool

        var status: String { String(head.split(separator: "\r\n").first ?? "") }
        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { String($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
        }
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let inbox: ObservedState<Inbox>
        init(_ inbox: ObservedState<Inbox>) { self.inbox = inbox }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            inbox.change { _ = $0.bytes.writeImmutableBuffer(bytes) }
        }
        func channelInactive(context: ChannelHandlerContext) { inbox.change { $0.isClosed = true } }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let channel: any Channel
    private let inbox: ObservedState<Inbox>

    private init(channel: any Channel, inbox: ObservedState<Inbox>) {
        self.channel = channel
        self.inbox = inbox
    }

    /// Sends a GET request for `path`.
    /// - Parameter isReading: False to read nothing, beyond the kernels' buffers, until ``resume()``.
    static func get(_ path: String, by user: TestUser, port: Int, isReading: Bool = true) async throws -> LargeReader {
        let inbox = ObservedState(Inbox())
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: isReading)
            .channelOption(.socketOption(.so_rcvbuf), value: isReading ? 1 << 20 : 16_384)
            .channelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 16_384, initial: 65_536, maximum: 1 << 20)
            )
            .channelInitializer { $0.pipeline.addHandler(Collector(inbox)) }
            .connect(host: "127.0.0.1", port: port).get()
        let head = """
            GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.layer+json; version=3.0\r\nConnection: close\r\n\
            Authorization: Layer session-token="\(user.token)"\r\n\r\n
            """
        try await channel.writeAndFlush(ByteBuffer(string: head)).get()
        return LargeReader(channel: channel, inbox: inbox)
    }

    func resume() async throws { try await channel.setOption(.autoRead, value: true).get() }

    func close() async { try? await channel.close().get() }

    /// Waits for the end of the connection. A service built without optimization needs a while for 80 MB, and a busy
    /// machine several times as long.
    func answer() async throws -> Answer {
        guard let bytes = await inbox.first(within: Waiting.limit * 5, { $0.isClosed ? $0.bytes : nil }) else {
            throw Problem("no end of an answer")
        }
        return try Self.parse(bytes)
    }

    private static func parse(_ whole: ByteBuffer) throws -> Answer {
        var bytes = whole
        guard let end = bytes.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Problem("no head of an answer")
        }
        let head = bytes.readString(length: end.lowerBound - bytes.readerIndex) ?? ""
        bytes.moveReaderIndex(forwardBy: 4)
        guard head.lowercased().contains("transfer-encoding: chunked") else {
            let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            let length = line.flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
            return Answer(head: head, body: bytes, isComplete: bytes.readableBytes == length)
        }
        var body = ByteBuffer()
        while let line = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\r")) {
            guard let text = bytes.readString(length: line - bytes.readerIndex), let length = Int(text, radix: 16)
            else { throw Problem("no chunk") }
            bytes.moveReaderIndex(forwardBy: min(2, bytes.readableBytes))
            if length == 0 { return Answer(head: head, body: body, isComplete: true) }
            guard var chunk = bytes.readSlice(length: min(length, bytes.readableBytes)), bytes.readableBytes >= 2 else {
                break
            }
            body.writeBuffer(&chunk)
            bytes.moveReaderIndex(forwardBy: 2)
        }
        return Answer(head: head, body: body, isComplete: false)
    }
}
