// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore

/// Ends connections whose client stops reading, and counts their unsent bytes. It watches HTTP and WebSocket
/// connections. A slow client that continues to read is not affected.
///
/// Its place in the pipeline is next to the network, below TLS.
final class ResponseGuard: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The time for which a client may read nothing.
    struct Patience: Sendable {
        /// The limit while the answer budget is not tight.
        var limit = TimeAmount.seconds(60)
        /// The interval between checks. It is also the limit while the answer budget is tight.
        var step: TimeAmount { .nanoseconds(max(1, limit.nanoseconds / Int64(Self.steps))) }
        static let steps = 12
    }

    private let budget: AnswerBudget
    private let patience: Patience
    /// The bytes passed to the channel, and those of completely sent writes.
    private var given = 0
    private var sent = 0
    private var waiting: Int { given - sent }
    private var timer: Scheduled<Void>?
    private var progress = 0
    private var idleSteps = 0

    init(_ budget: AnswerBudget, patience: Patience) {
        self.budget = budget
        self.patience = patience
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data).readableBytes
        guard bytes > 0 else { return context.write(data, promise: promise) }
        given += bytes
        budget.add(bytes)
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated()
            .whenComplete { [self] _ in
                sent += bytes
                budget.release(bytes)
            }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard waiting > 0, timer == nil else { return }
        progress = progress(context)
        idleSteps = 0
        schedule(context)
    }

    private func schedule(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience.step) { [self] in check(context) }
    }

    private func check(_ context: ChannelHandlerContext) {
        timer = nil
        guard waiting > 0, context.channel.isActive else { return }
        let now = progress(context)
        idleSteps = now > progress ? 0 : idleSteps + 1
        progress = now
        guard idleSteps >= (budget.isTight ? 1 : Patience.steps) else { return schedule(context) }
        GatewayMetrics.cut("stalled")
        context.channel.close(promise: nil)
    }

    /// Returns the number of bytes taken by the client. Within one large write, it uses the channel's count of
    /// remaining bytes.
    private func progress(_ context: ChannelHandlerContext) -> Int {
        let left = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        // Bytes buffered elsewhere, for example during a TLS handshake, have not been taken by the client.
        return left > 0 ? sent + given - left : sent
    }
}
