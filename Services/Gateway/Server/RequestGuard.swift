// SPDX-License-Identifier: Apache-2.0
import DequeModule
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Makes sure that the bodies of requests come, or that the connection ends. A client may not hold a connection by sending a byte now and then, nor
/// go on sending a request that has been answered already.
///
/// A body has the time of ``ArrivalTime``. Its bytes count as input from the moment they arrive until the request is answered or a route has taken them
/// (``BodyTaken``). If the budget is spent, the request is refused with 503, and the connection ends.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// An outbound event: a route has written a part of the first unanswered body elsewhere, and does not hold it any longer.
    struct BodyTaken: Sendable {
        let bytes: Int
    }

    /// How long the rest of a body that is not needed any more is read, so that its sender receives the answer instead of a reset.
    static let lingering = TimeAmount.seconds(2)

    private enum State {
        /// Between requests, or the whole request is there.
        case quiet
        case reading(since: NIODeadline, bytes: Int)
        /// Answered, or given up, before the request was complete: the connection ends with it.
        case ending
    }

    private let time: ArrivalTime
    private let input: InputBudget.Share
    private let refusals: RefusedRequest
    /// Bytes held for each unanswered request, in the order of arrival.
    private var bodies: Deque<Int> = []
    private var state = State.quiet
    private var timer: Scheduled<Void>?
    private var hasAnswered = false

    init(time: ArrivalTime, input: InputBudget.Share, refusals: RefusedRequest) {
        self.time = time
        self.input = input
        self.refusals = refusals
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        releaseAll()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .ending = state { return }
        switch unwrapInboundIn(data) {
        case .head:
            hasAnswered = false
            state = .reading(since: context.eventLoop.now, bytes: 0)
            bodies.append(0)
            schedule(context, in: time.step)
        case .body(let buffer):
            if case .reading(let since, let bytes) = state { state = .reading(since: since, bytes: bytes + buffer.readableBytes) }
            guard hold(buffer.readableBytes) else { return refuse(context, .serviceUnavailable, refusals.busy) }
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
            switch part {
            case .head: hasAnswered = true
            case .body: break
            case .end: if let body = bodies.popFirst() { input.release(body) }
            }
            context.write(data, promise: promise)
        }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let taken = event as? BodyTaken else { return context.triggerUserOutboundEvent(event, promise: promise) }
        if let first = bodies.first {
            let bytes = min(first, taken.bytes)
            bodies[bodies.startIndex] = first - bytes
            input.release(bytes)
        }
        promise?.succeed()
    }

    private func hold(_ bytes: Int) -> Bool {
        guard let last = bodies.indices.last else { return true }
        guard input.reserve(bytes) else { return false }
        bodies[last] += bytes
        return true
    }

    private func releaseAll() {
        input.release(bodies.reduce(0, +))
        bodies = []
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
        if let next = time.nextCheck(after: context.eventLoop.now - since, bytes: bytes, isTight: input.budget.isTight) {
            return schedule(context, in: next)
        }
        GatewayMetrics.cut("slow_request")
        refuse(context, .requestTimeout, refusals.timeout)
    }

    /// Answers a request that has not arrived completely, and ends the connection. No answer is written if its answer has begun, or if an earlier request would
    /// take it for its own.
    private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ body: ByteBuffer) {
        if !hasAnswered, bodies.count == 1 {
            var fields: HTTPFields = [.connection: "close", .contentType: "application/json", .contentLength: "\(body.readableBytes)"]
            if status == .serviceUnavailable { fields[.retryAfter] = "1" }
            context.write(wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
            context.write(wrapOutboundOut(.body(body)), promise: nil)
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
