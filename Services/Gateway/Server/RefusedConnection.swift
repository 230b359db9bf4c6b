// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

/// Ends a connection that exceeds a limit: it answers the first request with an error and closes.
///
/// If a connection closes while the client's request is in transit, the kernel resets it, and the client never reads
/// the answer. Input is therefore read and dropped for a short time, but only for ``lingering`` connections at once.
/// Others are closed immediately.
final class RefusedConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum number of refused connections that are kept open for their answer.
    static let lingering = 32
    private static let patience = TimeAmount.seconds(1)
    private static let count = Atomic<Int>(0)

    private var answer: ByteBuffer?

    private init(_ answer: ByteBuffer) { self.answer = answer }

    /// Sends `answer` on a channel without other handlers, and closes it. Call it on the channel's loop.
    static func end(_ channel: any Channel, saying answer: ByteBuffer) {
        let others = count.wrappingAdd(1, ordering: .relaxed).oldValue
        channel.closeFuture.whenComplete { _ in count.wrappingSubtract(1, ordering: .relaxed) }
        guard others < lingering, (try? channel.pipeline.syncOperations.addHandler(RefusedConnection(answer))) != nil
        else {
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
        // The client has disconnected, or has read the end of the answer.
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Returns a `503` response with an error object and a `Retry-After` header.
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
