// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore

/// Watches what leaves on a connection of a client, whatever it is: counts what the channel has not sent yet, and ends the connection if the client takes
/// nothing of it for too long. A slow client that goes on reading is left alone.
///
/// It stands next to the network, behind TLS.
final class ResponseGuard: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// How long a client may take nothing.
    struct Patience: Sendable {
        /// While there is room for the answers to all others.
        var limit = TimeAmount.seconds(60)
        /// How often the client is looked at, and how long it may take nothing when there is little room.
        var step: TimeAmount { .nanoseconds(max(1, limit.nanoseconds / Int64(Self.steps))) }
        static let steps = 12
    }

    private let budget: AnswerBudget
    private let patience: Patience
    /// Bytes that the channel was given, that it has sent whole writes of, and the difference.
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
                budget.give(bytes)
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
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience.step) { [self] in look(context) }
    }

    private func look(_ context: ChannelHandlerContext) {
        timer = nil
        guard waiting > 0, context.channel.isActive else { return }
        let now = progress(context)
        idleSteps = now > progress ? 0 : idleSteps + 1
        progress = now
        guard idleSteps >= (budget.isTight ? 1 : Patience.steps) else { return schedule(context) }
        GatewayMetrics.cut("stalled")
        context.channel.close(promise: nil)
    }

    /// Grows with every byte that the client takes: of one large write, the channel knows what is left.
    private func progress(_ context: ChannelHandlerContext) -> Int {
        let left = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        // What waits elsewhere, as in a handshake of TLS, has not been taken by the client.
        return left > 0 ? sent + given - left : sent
    }
}
