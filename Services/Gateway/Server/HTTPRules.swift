// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import StrataModel
import StrataWire

/// Keeps the rules of HTTP/1 on a connection that is no socket, as ``HTTPExchange`` decides them. It stands where requests still have their version.
final class HTTPRules: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Triggered outbound by a route that is about to read a body: a client that waits for `100 Continue` is told to send it. A request that is refused
    /// without is answered while its body is still where it was.
    struct BodyIsWanted: Sendable {}

    private var exchange = HTTPExchange()
    private let refusals: RefusedRequest

    init(refusals: RefusedRequest) { self.refusals = refusals }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            let received = exchange.receivedHead(&head)
            act(on: received, context: context, passing: .head(head))
        case .body(let bytes): act(on: exchange.receivedBody(), context: context, passing: .body(bytes))
        case .end(let trailers): act(on: exchange.receivedEnd(), context: context, passing: .end(trailers))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTPParserError {
            act(on: exchange.receivedParserError(error), context: context, passing: nil)
        } else if !exchange.hasEnded {
            context.fireErrorCaught(error)
        }
        // Otherwise it is about bytes behind those that were refused.
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // A route that did not know of a refusal.
        if exchange.hasEnded {
            promise?.succeed()
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head): context.write(wrapOutboundOut(.head(exchange.answering(head))), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            switch exchange.answered() {
            case .go: break
            case .end: RefusedRequest.end(context)
            case .refuse(let refusal): refuse(refusal, on: context)
            }
        }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is BodyIsWanted else { return context.triggerUserOutboundEvent(event, promise: promise) }
        if exchange.bodyIsWanted() {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        promise?.succeed()
    }

    private func act(on received: HTTPExchange.Received, context: ChannelHandlerContext, passing part: HTTPServerRequestPart?) {
        switch received {
        case .pass: if let part { context.fireChannelRead(wrapInboundOut(part)) }
        case .refuse(let refusal): refuse(refusal, on: context)
        case .drop: break
        }
    }

    private func refuse(_ refusal: HTTPExchange.Refusal, on context: ChannelHandlerContext) {
        if refusal == .malformed || refusal == .largeHead { GatewayMetrics.cut("malformed_request") }
        refusals.answer(refusal, on: context)
    }
}

/// What is answered to requests that never reach a route: error objects, like all other refusals (docs/conformance.md §1.5, §1.11).
struct RefusedRequest: Sendable {
    private let malformed: ByteBuffer
    private let largeHead: ByteBuffer
    private let host: ByteBuffer
    private let method: ByteBuffer
    /// The body of the answer to a request that took too long to come.
    let timeout: ByteBuffer
    /// The body of the answer to a request that there is no room for.
    let busy: ByteBuffer

    /// - Parameter renderer: writes the objects, once.
    init(_ renderer: Renderer) {
        func object(_ code: Failure.Code, message: String) -> ByteBuffer {
            RESTAnswer.json { renderer.writeFailure(Failure(code, message), for: nil, version: .v3, into: &$0) }.json ?? ByteBuffer()
        }
        malformed = object(.invalidRequest, message: "What came is not an HTTP request.")
        largeHead = object(.invalidRequest, message: "The head of the request is too large.")
        host = object(.invalidRequest, message: "The request must have one Host header.")
        method = object(.methodNotAllowed, message: "There is no such method.")
        timeout = object(.requestTimeout, message: "The request took too long to arrive.")
        busy = RESTAnswer.json { renderer.writeFailure(.unavailable, for: nil, version: .v3, into: &$0) }.json ?? ByteBuffer()
    }

    /// Says why, as the last thing on the connection.
    func answer(_ refusal: HTTPExchange.Refusal, on context: ChannelHandlerContext) {
        let (status, body): (HTTPResponseStatus, ByteBuffer) =
            switch refusal {
            case .malformed: (.badRequest, malformed)
            case .largeHead: (.requestHeaderFieldsTooLarge, largeHead)
            case .host: (.badRequest, host)
            case .method: (.methodNotAllowed, method)
            }
        let headers: HTTPHeaders = ["Content-Type": "application/json", "Content-Length": "\(body.readableBytes)", "Connection": "close"]
        context.write(NIOAny(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(NIOAny(HTTPServerResponsePart.body(.byteBuffer(body))), promise: nil)
        context.write(NIOAny(HTTPServerResponsePart.end(nil)), promise: nil)
        Self.end(context)
    }

    /// What was sent is the last thing; what still comes is read for a moment, and thrown away, so that its sender hears the answer instead of a reset. The
    /// moment begins when all has left: a slow reader gets all of a long answer, and ``ResponseGuard`` sees to it that it reads.
    static func end(_ context: ChannelHandlerContext) {
        context.flush()
        let channel = context.channel
        let hasLeft = context.eventLoop.makePromise(of: Void.self)
        hasLeft.futureResult.whenComplete { _ in
            channel.eventLoop.scheduleTask(in: RequestGuard.lingering) { channel.close(promise: nil) }
        }
        context.close(mode: .output, promise: hasLeft)
    }
}
