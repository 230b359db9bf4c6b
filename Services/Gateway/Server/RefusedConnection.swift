// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// The end of a connection that is one too many: as soon as it asks for something it is told so, whatever it wanted, and closed.
///
/// A connection that is closed while the client's request is on its way is reset by the kernel, and the client never reads what it was told. So what
/// comes is read and dropped for a moment, but only for a few at a time: who comes in hordes is closed at once.
final class RefusedConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Refused connections that may linger.
    static let lingering = 32
    private static let patience = TimeAmount.seconds(1)
    private static let count = Atomic<Int>(0)

    private var answer: ByteBuffer?

    private init(_ answer: ByteBuffer) { self.answer = answer }

    /// Says `answer` on the channel, which has no other handlers, and closes it. On the channel's loop.
    static func end(_ channel: any Channel, saying answer: ByteBuffer) {
        let others = count.wrappingAdd(1, ordering: .relaxed).oldValue
        channel.closeFuture.whenComplete { _ in count.wrappingSubtract(1, ordering: .relaxed) }
        guard others < lingering, (try? channel.pipeline.syncOperations.addHandler(RefusedConnection(answer))) != nil else {
            return channel.close(promise: nil)
        }
        channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let answer else { return }
        self.answer = nil
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client has gone, or has read the end.
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// `503` with an error object, and a word on when to come back.
    static func answer(_ body: ByteBuffer) -> ByteBuffer {
        var answer = ByteBuffer(
            string: """
                HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: \(body.readableBytes)\r\nRetry-After: 1\r\n\
                Connection: close\r\n\r\n
                """)
        answer.writeImmutableBuffer(body)
        return answer
    }
}
