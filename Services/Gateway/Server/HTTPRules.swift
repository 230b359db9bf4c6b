// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import StrataModel
import StrataWire

/// Enforces the rules of HTTP/1 on a plain HTTP connection, as decided by ``HTTPExchange``. Its place in the pipeline
/// is before the HTTP version is stripped from requests.
final class HTTPRules: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// An outbound event: a route is about to read a body. A client that waits for `100 Continue` receives it. If a
    /// request is refused without reading its body, the client has not sent the body yet.
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
        // Otherwise the error concerns bytes after the refused request.
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // This is the response of a route that does not know of the refusal.
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
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        promise?.succeed()
    }

    private func act(
        on received: HTTPExchange.Received, context: ChannelHandlerContext, passing part: HTTPServerRequestPart?
    ) {
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

/// The responses to requests that never reach a route. Their bodies are error objects like those of all other refusals
/// (docs/conformance.md §1.5, §1.11).
struct RefusedRequest: Sendable {
    private let malformed: ByteBuffer
    private let largeHead: ByteBuffer
    private let host: ByteBuffer
    private let method: ByteBuffer
    /// The response body for a request that took too long to arrive.
    let timeout: ByteBuffer
    /// The response body for a request that exceeds the input budget.
    let busy: ByteBuffer

    init(_ renderer: Renderer) {
        func object(_ code: Failure.Code, message: String) -> ByteBuffer {
            RESTAnswer.json { renderer.writeFailure(Failure(code, message), for: nil, version: .v3, into: &$0) }.json
                ?? ByteBuffer()
        }
        malformed = object(.invalidRequest, message: "What came is not an HTTP request.")
        largeHead = object(.invalidRequest, message: "The head of the request is too large.")
        host = object(.invalidRequest, message: "The request must have one Host header.")
        method = object(.methodNotAllowed, message: "The method is unknown.")
        timeout = object(.requestTimeout, message: "The request took too long to arrive.")
        busy =
            RESTAnswer.json { renderer.writeFailure(.unavailable, for: nil, version: .v3, into: &$0) }.json
            ?? ByteBuffer()
    }

    /// Sends a refusal as the last response on the connection.
    func answer(_ refusal: HTTPExchange.Refusal, on context: ChannelHandlerContext) {
        let (status, body): (HTTPResponseStatus, ByteBuffer) =
            switch refusal {
            case .malformed: (.badRequest, malformed)
            case .largeHead: (.requestHeaderFieldsTooLarge, largeHead)
            case .host: (.badRequest, host)
            case .method: (.methodNotAllowed, method)
            }
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": "\(body.readableBytes)", "Connection": "close",
        ]
        context.write(
            NIOAny(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: nil)
        context.write(NIOAny(HTTPServerResponsePart.body(.byteBuffer(body))), promise: nil)
        context.write(NIOAny(HTTPServerResponsePart.end(nil)), promise: nil)
        Self.end(context)
    }

    /// Ends the connection after the last response. Further input is read and discarded for ``RequestGuard/lingering``,
    /// so that the client receives the response instead of a reset.
    ///
    /// The period begins when all output has been sent. A slow reader can thus receive a long response;
    /// ``ResponseGuard`` enforces its progress.
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
