// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded

/// A network that takes nothing while it is stalled: what is written waits in it, as in a channel whose peer does not read. On the loop.
final class StalledNetwork: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// As much waits in a channel before it is not writable any more.
    static let watermark = 64 << 10

    private var held: [(data: IOData, promise: EventLoopPromise<Void>?)] = []
    private var context: ChannelHandlerContext?
    /// Bytes that wait here.
    var bytes: Int { held.reduce(0) { $0 + $1.data.readableBytes } }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        drop()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        held.append((unwrapOutboundIn(data), promise))
        adjust()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        drop()
        context.close(mode: mode, promise: promise)
    }

    /// Lets so many writes through.
    func take(_ count: Int = .max) {
        for _ in 0..<min(count, held.count) {
            let next = held.removeFirst()
            context?.writeAndFlush(wrapOutboundOut(next.data), promise: next.promise)
        }
        adjust()
    }

    /// Lets everything through, and what that brings.
    func takeAll() {
        while !held.isEmpty { take() }
    }

    private func adjust() {
        guard let channel = context?.channel as? NIOAsyncTestingChannel else { return }
        let isWritable = bytes <= Self.watermark
        guard channel.isWritable != isWritable else { return }
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    private func drop() {
        let dropped = held
        held = []
        for item in dropped { item.promise?.fail(ChannelError.ioOnClosedChannel) }
    }
}
