// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOWebSocket
import NetKit
import Synchronization

/// A child channel for REST and WebSocket on one port. The router answers plain HTTP/1.1; NIO's typed upgrader handles
/// `Upgrade: websocket`.
///
/// Hummingbird's WebSocket support runs tasks for each socket. A fan-out with 10 µs for a delivery cannot afford them
/// (docs/architecture.md §6).
struct UpgradeChannel: ServerChildChannel, HTTPChannelHandler {
    enum Upgraded: Sendable {
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
        case webSocket
        /// The connection exceeded a limit.
        case refused
    }

    struct Value: ServerChildChannelValue {
        let result: EventLoopFuture<Upgraded>
        let channel: any Channel
    }

    /// The Linux socket option `TCP_NOTSENT_LOWAT`.
    private static let notSentLowWaterMark: CInt = 25
    /// The maximum number of unsent bytes in the kernel for one client.
    private static let kernelBacklogBytes = 128 << 10
    /// The sizes of read buffers. NIO keeps a connection's first buffer until the connection ends, and an idle
    /// connection needs none. Buffers grow with the reads.
    private static let readBuffers = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 64 << 10)

    let responder: HTTPChannelHandler.Responder
    let upgrade: SocketUpgrade
    let limits: ConnectionLimits
    let clients: ClientConnections
    let answers: AnswerBudget
    let input: InputBudget
    let patience: ResponseGuard.Patience
    /// True if connections come from clients directly, not from a proxy for many clients.
    let countsAddresses: Bool
    /// The response on a connection that exceeds a limit.
    let refusal: ByteBuffer
    /// The responses to input that is not valid HTTP.
    let refusals: RefusedRequest

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let address = countsAddresses ? RateKey(channel.remoteAddress) : nil
        if clients.opened(address) != nil { return refuse(channel) }
        channel.closeFuture.whenComplete { _ in clients.closed(address) }
        return configure(channel, of: address, logger: logger)
    }

    private func refuse(_ channel: any Channel) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A TLS handshake would cost more than serving the connection.
            let isTLS = (try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)) != nil
            if isTLS { channel.close(promise: nil) } else { RefusedConnection.end(channel, saying: refusal) }
            return Value(result: channel.eventLoop.makeSucceededFuture(.refused), channel: channel)
        }
    }

    private func configure(_ channel: any Channel, of address: RateKey?, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let sync = channel.pipeline.syncOperations
            // Unread output waits in this process, where it is counted. The kernel would buffer megabytes for each
            // client.
            try? channel.syncOptions?
                .setOption(.tcpOption(.init(rawValue: Self.notSentLowWaterMark)), value: Self.kernelBacklogBytes)
            try? channel.syncOptions?.setOption(.recvAllocator, value: Self.readBuffers)
            try sync.addHandler(ResponseGuard(answers, patience: patience))
            let firstRequest = FirstRequestGuard(timeout: limits.firstRequestTimeout, refusals: refusals)
            let boundGuard = NIOLoopBound(firstRequest, eventLoop: channel.eventLoop)
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration<Upgraded>(
                upgradeConfiguration: .init(
                    upgraders: [upgrader()],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try self.configurePlainHTTP(
                                channel, of: address, firstRequest: boundGuard.value, logger: logger)
                        }
                    }))
            // NIOAsyncChannel handles one request at a time, and handleHTTP answers parser errors.
            configuration.enablePipelining = false
            configuration.enableErrorHandling = false
            configuration.enableResponseHeaderValidation = false
            configuration.decoderConfiguration = limits.heads
            let result = try sync.configureUpgradableHTTPServerPipeline(configuration: configuration)
            let upgradeHandler = try sync.handler(type: NIOTypedHTTPServerUpgradeHandler<Upgraded>.self)
            try sync.addHandler(firstRequest, position: .before(upgradeHandler))
            result.whenComplete { _ in boundGuard.value.finish() }
            return Value(result: result, channel: channel)
        }
    }

    private func upgrader() -> NIOTypedWebSocketServerUpgrader<Upgraded> {
        NIOTypedWebSocketServerUpgrader(
            maxFrameSize: limits.frameBytes,
            // NIO's error handler would close without a reason. The socket sends one.
            enableAutomaticErrorHandling: false,
            shouldUpgrade: { channel, head in upgrade.headers(for: head, on: channel) },
            upgradePipelineHandler: { channel, head in
                upgrade.start(head: head, on: channel).map { .webSocket }
            })
    }

    private func configurePlainHTTP(
        _ channel: any Channel, of address: RateKey?, firstRequest: FirstRequestGuard, logger: Logger
    ) throws -> Upgraded {
        let sync = channel.pipeline.syncOperations
        try sync.addHandler(HTTPRules(refusals: refusals))
        try sync.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try sync.addHandler(
            RequestGuard(time: limits.arrival, input: InputBudget.Share(input, of: address), refusals: refusals))
        try sync.addHandler(HTTPConnectionStateHandler(idleTimeout: limits.idleTimeout, logger: logger))
        let stream = try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        // NIO's upgrade handler drops the head of a request whose upgrade is refused, and its end if already seen. The
        // router needs both to answer 401, 406 or 404.
        if let head = firstRequest.head, head.headers.contains(name: "upgrade") {
            let context = try sync.context(handlerType: NIOTypedHTTPServerUpgradeHandler<Upgraded>.self)
            context.fireChannelRead(NIOAny(HTTPServerRequestPart.head(head)))
            if firstRequest.hasSeenEnd { context.fireChannelRead(NIOAny(HTTPServerRequestPart.end(nil))) }
            // No further input may arrive that would make the stream process these parts.
            context.fireChannelReadComplete()
        }
        return .http(stream)
    }

    /// Serves a connection over HTTP until it ends. For a socket it returns at once, because its handlers need no task;
    /// ``ClientConnections/waitUntilClosed()`` waits for its end.
    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.result.get() {
            case .http(let stream):
                // On the loop, a short request involves no other thread. ``LongRequests`` leave it.
                await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
                    await handleHTTP(asyncChannel: stream, logger: logger)
                }
            case .webSocket: break
            case .refused: try await value.channel.closeFuture.get()
            }
        } catch {
            logger.debug("connection closed before its first request", metadata: ["error.type": "\(type(of: error))"])
            value.channel.close(promise: nil)
        }
    }
}

struct ConnectionLimits: Sendable {
    /// The time within which a connection must have sent a complete request head. Otherwise it is closed.
    var firstRequestTimeout: TimeAmount { arrival.timeout }
    /// The time limit for the first request head (including TLS), for a request body, and for a socket's message.
    var arrival = ArrivalTime(timeout: .seconds(15))
    /// The limits on request heads. Larger heads are refused with 431. Known clients send less than a hundredth of
    /// this.
    let heads: NIOHTTPDecoderLimitConfiguration = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16 * 1024
        limits.maxHeaderListSize = 64 * 1024
        limits.maxHeaderFieldCount = 100
        return limits
    }()
    /// The time after which a plain HTTP connection without a request is closed.
    var idleTimeout = Duration.seconds(60)
    /// The maximum size in bytes of a frame or fragmented message. A larger one closes the socket with 1009
    /// (docs/conformance.md §12.3).
    var frameBytes = 1 << 20
}

/// Watches a connection until its first request selects HTTP or WebSocket. No other handler watches it before that.
///
/// The handler closes a silent connection, and an open one when the server drains. It keeps the request head for a
/// refused upgrade.
final class FirstRequestGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private(set) var head: HTTPRequestHead?
    private(set) var hasSeenEnd = false
    private var isDecided = false
    /// True after the end of the first request. Later input may not be HTTP, because the decoder passes on the bytes
    /// after a handshake unchanged.
    private var isPastFirstRequest = false
    private let timeout: TimeAmount
    private let refusals: RefusedRequest
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(timeout: TimeAmount, refusals: RefusedRequest) {
        self.timeout = timeout
        self.refusals = refusals
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: timeout) {
            GatewayMetrics.cut("no_request")
            channel.close(promise: nil)
        }
    }

    /// Refuses a malformed or oversized first request. ``HTTPRules`` does this for later requests.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isDecided, !isPastFirstRequest, head == nil, let error = error as? HTTPParserError else {
            return context.fireErrorCaught(error)
        }
        GatewayMetrics.cut("malformed_request")
        isPastFirstRequest = true
        refusals.answer(HTTPExchange.Refusal(error), on: context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isDecided, !isPastFirstRequest {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = self.head ?? head
            case .end:
                isPastFirstRequest = true
                // Set after the part is passed on: if the upgrade is refused meanwhile, the end is still in transit.
                context.fireChannelRead(data)
                hasSeenEnd = true
                return
            case .body: break
            }
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Stops watching, because the kind of connection is known and other handlers take over.
    func finish() {
        isDecided = true
        head = nil
        context?.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}

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
                HTTP/1.1 503 Service Unavailable\r\n\
                Content-Type: application/json\r\n\
                Content-Length: \(body.readableBytes)\r\n\
                Retry-After: 1\r\n\
                Connection: close\r\n\r\n
                """)
        answer.writeImmutableBuffer(body)
        return answer
    }
}
