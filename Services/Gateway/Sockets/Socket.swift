// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import FanOut
import Logging
import NIOCore
import NIOWebSocket
import StrataModel
import StrataWire
import Sync

/// A WebSocket connection: a channel handler with plain state, confined to its event loop. `@unchecked Sendable` relies
/// on this. An idle socket takes a few hundred bytes in addition to its channel.
final class Socket: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame

    /// The reasons for which the server closes a socket (docs/conformance.md §12.10).
    enum CloseReason {
        case goingAway, binary, tooLarge, protocolAbuse, sessionEnded, idle, tooSlow, behind, tooMuch, protocolError,
            noRoom, slowMessage
        /// A text frame that does not allow an error response.
        case unreadable(Failure)

        var code: WebSocketErrorCode {
            switch self {
            case .goingAway: .goingAway
            case .binary, .unreadable: .unacceptableData
            case .tooLarge: .messageTooLarge
            case .protocolAbuse: .policyViolation
            case .protocolError: .protocolError
            case .sessionEnded: WebSocketErrorCode(codeNumber: 4401)
            case .idle, .slowMessage: WebSocketErrorCode(codeNumber: 4408)
            // 1013, "Try Again Later": reconnect and replay.
            case .tooSlow, .behind, .tooMuch, .noRoom: WebSocketErrorCode(codeNumber: 1013)
            }
        }

        /// A description for developers of clients. Clients evaluate only the code.
        var reason: String {
            switch self {
            case .goingAway: "The server ends this connection. Connect again, and replay."
            case .binary: "A frame is binary. Packets are JSON in text frames."
            // The failure names properties, but never contains their values.
            case .unreadable(let failure): "A packet cannot be read: \(failure.message)"
            case .tooLarge: "A frame, or a message of several frames, is larger than 1 MB."
            case .protocolAbuse: "The client keeps exceeding its limits."
            case .protocolError: "A frame violates the WebSocket protocol."
            case .sessionEnded: "The session has ended. Sign in again."
            case .idle: "The client was silent for too long. Connect again, and replay."
            case .tooSlow: "The client reads too slowly. Connect again, and replay."
            case .behind: "The client has not requested the replay of missed changes. Connect again, and replay."
            case .tooMuch: "There are more changes than can be sent at once. Connect again, and replay."
            case .noRoom: "The server's input buffers are full. Connect again later, and replay."
            case .slowMessage: "A message took too long to arrive. Connect again, and replay."
            }
        }

        /// The payload of the close frame: the code, and the description up to the limit of RFC 6455 §5.5 (125 bytes in
        /// all).
        var payload: ByteBuffer {
            var payload = ByteBuffer()
            payload.write(webSocketErrorCode: code)
            var text = reason
            while payload.readableBytes + text.utf8.count > 125 { text.removeLast() }
            payload.writeString(text)
            return payload
        }
    }

    /// The connection's id, unique across gateways and restarts. It is part of the origin of every change caused by
    /// this socket.
    let id: UInt64
    let session: Session
    let version: WireVersion
    let home: SocketLoop
    let registration: Registration
    var registry: LoopRegistry { home.registry }
    var key: UserKey { session.key }
    /// The ``FanOut/era`` in which the socket opened. The socket is closed when it ends.
    let era: Int

    var phase: CatchUpSchedule.Phase { catchUps.schedule.phase }
    var isOpen: Bool { catchUps.schedule.isOpen }

    var outbox: Outbox
    /// The memory held by messages and requests of this socket.
    let input: InputBudget.Share

    var requests: RequestQueue
    var catchUps: SocketCatchUps
    var link: SocketLink
    var frameLimit: FrameLimit
    var presence = SocketPresence()
    /// The running traces of the user; nil: none.
    var traces: [PacketTrace]?

    var context: ChannelHandlerContext? { link.context }
    var rawContext: ChannelHandlerContext? { link.rawContext }
    var isClosing: Bool { link.isClosing }

    /// - Parameter address: the client's address. nil if it is unknown.
    init(
        id: UInt64 = .random(in: .min ... .max), session: Session, version: WireVersion, home: SocketLoop,
        address: RateKey? = nil
    ) {
        self.id = id
        self.session = session
        self.version = version
        self.home = home
        let settings = home.services.settings
        requests = RequestQueue(
            limits: RequestQueue.Limits(requests: settings.sockets.requests, bytes: settings.sockets.requestBytes))
        input = InputBudget.Share(home.services.input, of: address)
        outbox = Outbox(bound: settings.sockets.backlogBytes, answers: home.services.answers)
        era = home.registry.era
        frameLimit = FrameLimit(of: RateKey(tokenDigest: session.tokenDigest))
        registration = Registration(
            key: session.key, version: version, tokenDigest: session.tokenDigest, since: home.loop.now)
        link = SocketLink(openedAt: registration.since)
        let known = CatchUpSchedule.Session(
            of: session.key.user, createdAt: session.createdAt, replayableSince: session.replayableSince)
        catchUps = SocketCatchUps(schedule: CatchUpSchedule(known, since: registration.since))
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        link.opened(
            context, rawContext: try? context.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self))
        outbox.opened(at: beginning)
        traces = home.traces[key]
        trace(.opened)
        registry.add(self)
        catchUps.listening = registry.loop.scheduleTask(in: CatchUpTiming.listenAfter) { [weak self] in
            self?.startUnsolicited()
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { ended() }
    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    private func ended() {
        guard isOpen else { return }
        catchUps.closed()
        requests.removeAll()
        reportRequests()
        dropOutgoing()
        registry.remove(self)
        releaseStatus()
        link.ended()
        trace(.closed)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isOpen else { return }
        let frame = unwrapInboundIn(data)
        if isClosing {
            // This is the answer to our close frame. Clients wait for the end of the connection before they report it.
            if frame.opcode == .connectionClose { context.close(promise: nil) }
            return
        }
        link.heard(at: registry.loop.now)
        switch frame.opcode {
        case .text:
            trace(frame)
            if isAdmitted { textFrameReceived(frame.unmaskedData) } else { refuseFrame(frame.unmaskedData) }
        case .ping: if isAdmitted { sendControl(.pong, data: frame.unmaskedData) } else { refuseFrame(nil) }
        case .pong: break
        case .connectionClose:
            // RFC 6455 §5.5.1: a non-empty payload begins with a two-byte code.
            if frame.unmaskedData.readableBytes == 1 { return close(.protocolError) }
            sendControl(.connectionClose, data: frame.unmaskedData)
            link.closes()
            context.close(promise: nil)
        default: close(.binary)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.fireChannelReadComplete() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { pump() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            close(.goingAway)
        } else if event as? ChannelEvent == .inputClosed {
            // The port allows half-closed connections for HTTP. A socket whose client cannot even send a close frame is
            // useless.
            link.closes()
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, is MessageAssembler.TooLarge: close(.tooLarge)
        case IncompleteMessage.Problem.noRoom: close(.noRoom)
        case IncompleteMessage.Problem.tooSlow: close(.slowMessage)
        case is NIOWebSocketError, is FrameRules.Broken: close(.protocolError)
        // Input after an unacceptable frame is discarded until the peer closes or the close timeout passes. Closing
        // with unread input would reset the connection, and the peer might not receive the reason.
        case is ByteToMessageDecoderError where isClosing: break
        default:
            link.closes()
            context.close(promise: nil)
        }
    }
}

extension Socket: RegisteredSocket {
    func deliver(_ delivery: Delivery, as rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        if let origin = delivery.change.origin, origin.connection == id { answer(from: delivery.change) }
        send(rendering, values: values, stamp: stamp)
    }

    func membershipChanged(_ event: MembershipEvent) {
        switch event {
        case .left(let id, let record): catchUps.schedule.membership.left(id, record: record)
        case .canRejoin: startLateJoins()
        case .returns(let id, let position): join([id: position])
        case .added(let id, let position): wasAdded(to: id, at: position)
        }
    }

    func end(_ reason: RegisteredSocketEnd) {
        switch reason {
        case .goingAway: close(.goingAway)
        case .sessionEnded: close(.sessionEnded)
        }
    }

    func upkeep(turn: Int) {
        let slot = Int(truncatingIfNeeded: id & 0xffff)
        if link.lastHeard + SocketLoop.silence < home.loop.now {
            releaseStatus()
            return close(.idle)
        }
        if (slot + turn) % SocketLoop.pingPeriod == 0 { ping() }
        if presence.isHeld, (slot + turn) % home.services.renewalPeriod.seconds == 0 { home.renewPresence(of: self) }
        if (slot + turn) % SocketLoop.sessionPeriod == 0 { home.checkSession(of: self) }
    }
}

/// The handling of frames over the session's rate limit (docs/conformance.md §1.10).
extension Socket {
    /// Counts a received frame. True if it is within the session's rate limit.
    var isAdmitted: Bool { home.services.limiter.admit(session: frameLimit.key) == nil }

    /// Refuses a frame over the rate limit and answers its request with an error. A client that continues at the same
    /// rate is disconnected.
    /// - Parameter frame: the frame. nil if it needs no answer.
    func refuseFrame(_ frame: ByteBuffer?) {
        guard let limit = home.services.limiter.limits.session else { return }
        if frameLimit.refuse(limit, at: .now) { return close(.protocolAbuse) }
        guard let frame else { return }
        let packet: ClientPacket
        do {
            packet = try ClientPacket(parsing: frame)
        } catch {
            home.services.metrics.malformedFrames.increment()
            return close(.unreadable(error))
        }
        switch packet {
        case .typing(_, _, let id): if let id { refuseRequest(ClientPacket.Request(id: id, method: "")) }
        case .refused(let id, let method, _): refuseRequest(ClientPacket.Request(id: id, method: method))
        case .dropped: break
        case .request(let request): refuseRequest(request)
        }
    }

    private func refuseRequest(_ packet: ClientPacket.Request) {
        let request = requests.numbered(packet)
        requests.refused(request)
        respond(to: request, .failure(.rateLimited))
    }
}

/// The number of frames over the session's rate limit that are refused before the socket is closed.
struct FrameLimit {
    let key: RateKey
    /// A bucket with the frames that may still be refused. nil until the first refusal.
    private var patience: TokenBucket?

    init(of key: RateKey) { self.key = key }

    /// Counts a refused frame.
    /// - Returns: true if the socket must be closed.
    mutating func refuse(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Bool {
        var left = patience ?? TokenBucket(limit, at: now)
        defer { patience = left }
        return left.take(limit, at: now) != nil
    }
}

/// A socket's channel contexts, with the time of the last input and the closing state.
struct SocketLink {
    private(set) var context: ChannelHandlerContext?
    /// The context of the frame encoder, for writing encoded frames.
    private(set) var rawContext: ChannelHandlerContext?
    private(set) var lastHeard: NIODeadline
    /// True after a close frame has been sent or the peer has disconnected. No frame may follow (RFC 6455 §5.5.1).
    private(set) var isClosing = false

    init(openedAt time: NIODeadline) { lastHeard = time }

    mutating func opened(_ context: ChannelHandlerContext, rawContext: ChannelHandlerContext?) {
        self.context = context
        self.rawContext = rawContext
    }

    mutating func heard(at time: NIODeadline) { lastHeard = time }

    mutating func closes() { isClosing = true }

    mutating func ended() {
        context = nil
        rawContext = nil
    }
}
