// SPDX-License-Identifier: Apache-2.0
import DequeModule
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Enforces the arrival of request bodies within a time limit, and ends connections that exceed it. A client cannot
/// hold a connection by sending single bytes, or by continuing a request that is already answered.
///
/// A body has the time of ``ArrivalTime``. Its bytes count as input until the request is answered or a route has taken
/// them (``BodyTaken``). If the budget is exhausted, the request is refused with 503, and the connection ends.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// An outbound event: a route has stored a part of the first unanswered body elsewhere, and no longer holds it in
    /// memory.
    struct BodyTaken: Sendable {
        let bytes: Int
    }

    /// The time for which the rest of an unneeded body is read, so that its sender receives the answer instead of a
    /// reset.
    static let lingering = TimeAmount.seconds(2)

    private enum State {
        /// No request is being received.
        case quiet
        case reading(since: NIODeadline, bytes: Int)
        /// A request was answered or refused before it was complete. The connection ends with it.
        case ending
    }

    private let time: ArrivalTime
    private let input: InputBudget.Share
    private let refusals: RefusedRequest
    /// The bytes held for each unanswered request, in order of arrival.
    private var bodies: Deque<Int> = []
    private var state = State.quiet
    private var timer: Scheduled<Void>?
    /// True if the answer to the first unanswered request has begun.
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
            state = .reading(since: context.eventLoop.now, bytes: 0)
            bodies.append(0)
            schedule(context, in: time.step)
        case .body(let buffer):
            if case .reading(let since, let bytes) = state {
                state = .reading(since: since, bytes: bytes + buffer.readableBytes)
            }
            guard hold(buffer.readableBytes) else { return refuse(context, .serviceUnavailable, refusals.busy) }
        case .end:
            state = .quiet
            timer?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .ending = state {
            promise?.succeed()
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            hasAnswered = true
            if isAnsweredEarly { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            if isAnsweredEarly { return end(context) }
            hasAnswered = false
            if let body = bodies.popFirst() { input.release(body) }
        }
    }

    /// True if the answer belongs to the request that is being received. A client that has the last byte of an answer
    /// may send its next request before the answer's end is written here, so another request can be in progress.
    private var isAnsweredEarly: Bool {
        if case .reading = state { bodies.count == 1 } else { false }
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

    /// Reserves memory for a part of the body. Returns false if there is not enough.
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
        if let next = time.nextCheck(after: context.eventLoop.now - since, bytes: bytes, isTight: input.budget.isTight)
        {
            return schedule(context, in: next)
        }
        GatewayMetrics.cut("slow_request")
        refuse(context, .requestTimeout, refusals.timeout)
    }

    /// Refuses an incomplete request and ends the connection. No answer is written if one has begun, or if an earlier
    /// request would receive it.
    private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ body: ByteBuffer) {
        if !hasAnswered, bodies.count == 1 {
            var fields: HTTPFields = [
                .connection: "close", .contentType: "application/json", .contentLength: "\(body.readableBytes)",
            ]
            if status == .serviceUnavailable { fields[.retryAfter] = "1" }
            context.write(wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
            context.write(wrapOutboundOut(.body(body)), promise: nil)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
        }
        end(context)
    }

    /// Ends the connection after the answer. Further input is read and discarded for ``lingering``.
    private func end(_ context: ChannelHandlerContext) {
        state = .ending
        timer?.cancel()
        RefusedRequest.end(context)
    }
}
