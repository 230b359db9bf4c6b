// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded

/// A stalled network: it queues all writes, like a channel whose peer does not read. Must be used on the loop.
final class StalledNetwork: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The high-water mark in bytes: a channel with more pending bytes is not writable.
    static let watermark = 64 << 10

    private var held: [(data: IOData, promise: EventLoopPromise<Void>?)] = []
    private var context: ChannelHandlerContext?
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

    /// Lets up to `count` writes through.
    func take(_ count: Int = .max) {
        for _ in 0..<min(count, held.count) {
            let next = held.removeFirst()
            context?.writeAndFlush(wrapOutboundOut(next.data), promise: next.promise)
        }
        adjust()
    }

    /// Lets all writes through, including those that this causes.
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
