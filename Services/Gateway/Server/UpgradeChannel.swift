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

/// One port for REST and WebSocket: the router answers plain HTTP/1.1, NIO's typed upgrader takes `Upgrade: websocket`.
///
/// Hummingbird's own WebSocket support runs tasks per socket; a fan-out at 10 µs a delivery cannot afford them (docs/architecture.md §6).
struct UpgradeChannel: ServerChildChannel, HTTPChannelHandler {
    enum Upgraded: Sendable {
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
        case webSocket
        /// One too many.
        case refused
    }

    struct Value: ServerChildChannelValue {
        let result: EventLoopFuture<Upgraded>
        let channel: any Channel
    }

    /// `TCP_NOTSENT_LOWAT` of Linux.
    private static let notSentLowWaterMark: CInt = 25
    /// Bytes that the kernel takes for a client beyond what it has sent already.
    private static let kernelBacklogBytes = 128 << 10

    let responder: HTTPChannelHandler.Responder
    let upgrade: SocketUpgrade
    let limits: ConnectionLimits
    let clients: ClientConnections
    let answers: AnswerBudget
    let input: InputBudget
    let patience: ResponseGuard.Patience
    /// Whether the other end of a connection is a client, and not a proxy for many.
    let countsAddresses: Bool
    /// What a connection is told that is one too many.
    let refusal: ByteBuffer
    /// What requests are told that are no HTTP.
    let refusals: RefusedRequest

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let address = countsAddresses ? RateKey(channel.remoteAddress) : nil
        if clients.opened(address) != nil { return refuse(channel) }
        channel.closeFuture.whenComplete { _ in clients.closed(address) }
        return configure(channel, of: address, logger: logger)
    }

    private func refuse(_ channel: any Channel) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // To agree on TLS first would be more work than to serve it.
            let isTLS = (try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)) != nil
            if isTLS { channel.close(promise: nil) } else { RefusedConnection.end(channel, saying: refusal) }
            return Value(result: channel.eventLoop.makeSucceededFuture(.refused), channel: channel)
        }
    }

    private func configure(_ channel: any Channel, of address: RateKey?, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let sync = channel.pipeline.syncOperations
            // What a client does not read waits here, where it is counted, and not in the kernel, which would take megabytes for each.
            try? channel.syncOptions?.setOption(.tcpOption(.init(rawValue: Self.notSentLowWaterMark)), value: Self.kernelBacklogBytes)
            try sync.addHandler(ResponseGuard(answers, patience: patience))
            let firstRequest = FirstRequestGuard(timeout: limits.firstRequestTimeout, refusals: refusals)
            let boundGuard = NIOLoopBound(firstRequest, eventLoop: channel.eventLoop)
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration<Upgraded>(
                upgradeConfiguration: .init(
                    upgraders: [upgrader()],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try self.configurePlainHTTP(channel, of: address, firstRequest: boundGuard.value, logger: logger)
                        }
                    }))
            // NIOAsyncChannel takes one request after the other, and handleHTTP answers parser errors.
            configuration.enablePipelining = false
            configuration.enableErrorHandling = false
            configuration.enableResponseHeaderValidation = false
            configuration.decoderConfiguration = limits.heads
            let result = try sync.configureUpgradableHTTPServerPipeline(configuration: configuration)
            let upgradeHandler = try sync.handler(type: NIOTypedHTTPServerUpgradeHandler<Upgraded>.self)
            try sync.addHandler(firstRequest, position: .before(upgradeHandler))
            result.whenComplete { _ in boundGuard.value.decided() }
            return Value(result: result, channel: channel)
        }
    }

    private func upgrader() -> NIOTypedWebSocketServerUpgrader<Upgraded> {
        NIOTypedWebSocketServerUpgrader(
            maxFrameSize: limits.frameBytes,
            // NIO's handler of errors would close without a word; the socket says why.
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
        try sync.addHandler(RequestGuard(time: limits.arrival, input: InputBudget.Share(input, of: address), refusals: refusals))
        try sync.addHandler(HTTPConnectionStateHandler(idleTimeout: limits.idleTimeout, logger: logger))
        let stream = try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        // NIO's upgrade handler swallows the head, and an end it has seen, of a request whose upgrade is refused. The router must
        // have them, to answer 401, 406 or 404.
        if let head = firstRequest.head, head.headers.contains(name: "upgrade") {
            let context = try sync.context(handlerType: NIOTypedHTTPServerUpgradeHandler<Upgraded>.self)
            context.fireChannelRead(NIOAny(HTTPServerRequestPart.head(head)))
            if firstRequest.hasSeenEnd { context.fireChannelRead(NIOAny(HTTPServerRequestPart.end(nil))) }
            // Nothing else may come on this connection that would make the stream look at what it was given.
            context.fireChannelReadComplete()
        }
        return .http(stream)
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.result.get() {
            case .http(let stream): await handleHTTP(asyncChannel: stream, logger: logger)
            case .webSocket, .refused: try await value.channel.closeFuture.get()
            }
        } catch {
            logger.debug("a connection ended before its first request", metadata: ["error.type": "\(type(of: error))"])
            value.channel.close(promise: nil)
        }
    }
}

/// Bounds of one client connection.
struct ConnectionLimits: Sendable {
    /// A connection that has sent no complete request head by then is closed, whatever it did instead.
    var firstRequestTimeout: TimeAmount { arrival.timeout }
    /// The time for the head of the first request, TLS included, for a body, and for a message of a socket.
    var arrival = ArrivalTime(timeout: .seconds(15))
    /// Heads beyond these are refused with 431: no client of ours sends a hundredth of it.
    let heads: NIOHTTPDecoderLimitConfiguration = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16 * 1024
        limits.maxHeaderListSize = 64 * 1024
        limits.maxHeaderFieldCount = 100
        return limits
    }()
    /// A plain HTTP connection without a request for this long is closed.
    var idleTimeout = Duration.seconds(60)
    /// A larger frame, or message of several fragments, closes the socket with 1009 (docs/conformance.md §12.3).
    var frameBytes = 1 << 20
}

/// Watches a connection until its first request decides between HTTP and WebSocket; before that no other handler does.
///
/// It closes a connection that stays silent and one that is open when the server drains, and keeps the head for a refused upgrade.
final class FirstRequestGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private(set) var head: HTTPRequestHead?
    private(set) var hasSeenEnd = false
    private var isDecided = false
    /// What comes after the end of the first request need not be HTTP: the decoder hands on the bytes behind a handshake as they are.
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

    /// What is no HTTP, or too much of it, is told so; of later requests ``HTTPRules`` does it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isDecided, !isPastFirstRequest, head == nil, let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
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
                // Marked after it was passed on: should the upgrade be refused meanwhile, the end is still on its way.
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

    /// The kind of connection is known: others watch it now.
    func decided() {
        isDecided = true
        head = nil
        context?.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
