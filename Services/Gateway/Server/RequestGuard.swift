// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Makes sure that the bodies of requests come, or that the connection ends. A client may not hold a connection by sending a byte now and then, nor
/// go on sending a request that has been answered already.
///
/// A body has ``ConnectionLimits/requestTimeout``, and longer only as long as on average ``bytesPerSecond`` have come.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Less than any line that is still of use. A client that wants to hold a connection has to send at least that much.
    static let bytesPerSecond = 500.0
    /// How long the rest of a body that is not needed any more is read, so that its sender receives the answer instead of a reset.
    static let lingering = TimeAmount.seconds(2)

    private enum State {
        /// Between requests, or the whole request is there.
        case quiet
        case reading(since: NIODeadline, bytes: Int)
        /// Answered, or given up, before the request was complete: the connection ends with it.
        case ending
    }

    private let timeout: TimeAmount
    private let refusals: RefusedRequest
    private var state = State.quiet
    private var timer: Scheduled<Void>?
    private var hasAnswered = false

    init(timeout: TimeAmount, refusals: RefusedRequest) {
        self.timeout = timeout
        self.refusals = refusals
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .ending = state { return }
        switch unwrapInboundIn(data) {
        case .head:
            hasAnswered = false
            state = .reading(since: .now(), bytes: 0)
            schedule(context, in: timeout)
        case .body(let buffer):
            if case .reading(let since, let bytes) = state { state = .reading(since: since, bytes: bytes + buffer.readableBytes) }
        case .end:
            state = .quiet
            timer?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch (unwrapOutboundIn(data), state) {
        case (_, .ending): promise?.succeed()
        case (.head(var head), .reading):
            hasAnswered = true
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case (.end, .reading):
            context.write(data, promise: promise)
            end(context)
        case (let part, _):
            if case .head = part { hasAnswered = true }
            context.write(data, promise: promise)
        }
    }

    private func schedule(_ context: ChannelHandlerContext, in delay: TimeAmount) {
        timer?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: delay) {
            let (guardian, context) = bound.value
            guardian.check(context)
        }
    }

    private func check(_ context: ChannelHandlerContext) {
        guard case .reading(let since, let bytes) = state else { return }
        let seconds = Double((NIODeadline.now() - since).nanoseconds) / 1e9
        // What has come pays for some more time.
        let paid = Double(bytes) / Self.bytesPerSecond
        if paid > seconds { return schedule(context, in: .milliseconds(Int64((paid - seconds) * 1000) + 1)) }
        GatewayMetrics.cut("slow_request")
        if !hasAnswered {
            let fields: HTTPFields = [
                .connection: "close", .contentType: "application/json", .contentLength: "\(refusals.timeout.readableBytes)",
            ]
            context.write(wrapOutboundOut(.head(HTTPResponse(status: .requestTimeout, headerFields: fields))), promise: nil)
            context.write(wrapOutboundOut(.body(refusals.timeout)), promise: nil)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
        }
        end(context)
    }

    /// The answer is the last thing that is sent; what still comes is read for a moment, and thrown away.
    private func end(_ context: ChannelHandlerContext) {
        state = .ending
        timer?.cancel()
        RefusedRequest.end(context)
    }
}
