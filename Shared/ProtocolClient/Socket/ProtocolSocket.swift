// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOSSL
import NIOWebSocket
import Synchronization

/// One open WebSocket: sends requests and signals, and keeps every packet the server sends until a caller takes it.
///
/// Two ways to listen, which do not disturb each other: ``nextPacket(_:deadline:where:)`` takes the oldest packet that matches and has not been taken,
/// whether it came already or comes yet, so nothing is missed between two waits; ``packets()`` is every packet, in order. Responses to
/// ``request(_:objectID:data:deadline:)`` are taken by it.
public final class ProtocolSocket: Sendable {
    /// How a socket behaves.
    public struct Options: Sendable {
        /// Whether pings of the server are answered; a client that does not is soon taken for dead.
        public var answersPings = true
        /// The most packets kept for ``ProtocolSocket/history`` and for those who wait.
        public var historyLimit = 100_000
        /// For a client that takes all packets with ``ProtocolSocket/takePackets(atMost:)``: no history is kept, every packet stays until it is taken, and reading
        /// from the network pauses while more than so many wait. Nil: as ``historyLimit`` says.
        public var readAhead: Int?
        /// The longest frame taken from the server, and the longest message in several frames.
        public var frameLimit = 16 << 20
        /// Bytes that the kernel may hold for the client to read; nil: as the system decides. A small one makes a client that stops reading show sooner.
        public var receiveBuffer: Int?
        /// Headers added to the handshake; replace those of the same name. An empty value removes one.
        public var headers: [String: String] = [:]
        /// The subprotocol offered; nil: that of the client's version. Empty: none.
        public var subprotocol: String?
        /// The path and query asked for, below the path of the WebSocket URL; nil: `/` with the session token in the query.
        public var target: String?

        /// As documented beside each.
        public init() {}
    }

    let answersPings: Bool
    let messageLimit: Int
    private let channel: any Channel
    private let inbox: Mutex<SocketInbox>
    private let numbers = Atomic<UInt64>(1)
    private let pings = Atomic<Int>(0)
    private let readAhead: Int?
    private let isPaused = Atomic<Bool>(false)

    init(channel: any Channel, options: Options) {
        self.channel = channel
        answersPings = options.answersPings
        messageLimit = options.frameLimit
        readAhead = options.readAhead
        inbox = Mutex(SocketInbox(historyLimit: options.readAhead == nil ? options.historyLimit : nil))
    }

    // MARK: Sending

    /// Sends a request and waits for its answer, successful or not.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded` or `closed`; `CancellationError`.
    public func request(
        _ method: String, objectID: String? = nil, data: JSONValue? = nil, deadline: ContinuousClock.Instant? = nil
    ) async throws -> SocketAnswer {
        let id = "r\(number())"
        var body: JSONValue = ["request_id": .string(id), "method": .string(method)]
        if let objectID { body["object_id"] = .string(objectID) }
        if let data { body["data"] = data }
        if method == "Event.replay" { inbox.withLock { $0.replayRequested() } }
        let text = (["type": "request", "body": body] as JSONValue).text
        let packet = try await wait(until: deadline, for: "the answer to \(method)") {
            SocketInbox.Waiter.response(requestID: id, $0)
        } afterwards: {
            self.enqueueFrame(.text, data: ByteBuffer(string: text))
        }
        return SocketAnswer(packet: packet)
    }

    /// Sends a signal, to which nothing is answered.
    public func signal(_ type: String, objectID: String, data: JSONValue) async throws {
        try await sendPacket(["type": "signal", "body": ["type": .string(type), "object": ["id": .string(objectID)], "data": data]])
    }

    /// Sends a typing indicator: `started`, `paused` or `finished`.
    public func typing(_ action: String, in conversationID: String) async throws {
        try await signal("typing_indicator", objectID: conversationID, data: ["action": .string(action)])
    }

    /// Sends a packet as it is.
    public func sendPacket(_ packet: JSONValue) async throws { try await sendText(packet.text) }

    /// Sends a packet without waiting until it is written. Packets are sent in the order of the calls; if the connection is lost, the socket's end tells.
    public func enqueuePacket(_ packet: JSONValue) { enqueueFrame(.text, data: ByteBuffer(string: packet.text)) }

    /// Sends a text frame.
    public func sendText(_ text: String) async throws { try await sendFrame(.text, data: ByteBuffer(string: text)) }

    /// Sends a binary frame.
    public func sendBinary(_ binary: [UInt8]) async throws { try await sendFrame(.binary, data: ByteBuffer(bytes: binary)) }

    /// Sends a frame of any kind; `mask` false breaks the protocol, which is what some tests are about.
    public func sendFrame(opcode: UInt8, bytes: [UInt8], isFinal: Bool = true, mask: Bool = true) async throws {
        guard let opcode = WebSocketOpcode(encodedWebSocketOpcode: opcode) else { return }
        let frame = WebSocketFrame(fin: isFinal, opcode: opcode, maskKey: mask ? .random() : nil, data: ByteBuffer(bytes: bytes))
        try await writing { try await self.channel.writeAndFlush(frame).get() }
    }

    /// Sends a ping.
    public func ping() async throws { try await sendFrame(.ping, data: ByteBuffer()) }

    // MARK: Receiving

    /// Takes the oldest packet not taken yet for which `matches` is true, waiting for one if there is none yet.
    /// - Parameter what: named in the error when the deadline passes.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded` or `closed`; `CancellationError`.
    public func nextPacket(
        _ what: String = "a packet", deadline: ContinuousClock.Instant? = nil, where matches: @escaping @Sendable (ReceivedPacket) -> Bool
    ) async throws -> ReceivedPacket {
        try await wait(until: deadline, for: what) { SocketInbox.Waiter.match(matches, $0) }
    }

    /// Takes the oldest packets that were not taken yet, and waits for one if there is none. Set ``Options/readAhead`` for it.
    /// - Throws: ``ProtocolClientError`` `closed` when the socket has ended and all packets have been taken; `CancellationError`.
    public func takePackets(atMost limit: Int) async throws -> [ReceivedPacket] {
        let waiting = inbox.withLock { $0.takeUntaken(limit) }
        guard waiting.isEmpty else {
            if isPaused.exchange(false, ordering: .relaxed) { channel.setOption(.autoRead, value: true).whenComplete { _ in } }
            return waiting
        }
        return [try await nextPacket(deadline: .now + .seconds(86_400 * 365)) { _ in true }]
    }

    /// Takes the next change of this kind, and of this object if one is given.
    public func nextChange(
        _ operation: String, of objectType: String, id: String? = nil, deadline: ContinuousClock.Instant? = nil
    ) async throws -> ReceivedPacket {
        try await nextPacket("\(objectType) \(operation)", deadline: deadline) { $0.isChange(operation, of: objectType, id: id) }
    }

    /// A stream of all packets of the socket in order, from the first one in ``history`` to the socket's end. Unread packets are kept.
    public func packets() -> AsyncStream<ReceivedPacket> {
        let id = number()
        let (stream, continuation) = AsyncStream.makeStream(of: ReceivedPacket.self)
        continuation.onTermination = { [weak self] _ in self?.inbox.withLock { $0.removeObserver(id) } }
        let isOpen = inbox.withLock { inbox in
            for packet in inbox.history { continuation.yield(packet) }
            return inbox.addObserver(id: id, yieldingTo: continuation)
        }
        if !isOpen { continuation.finish() }
        return stream
    }

    /// Every packet that came, oldest first, taken or not; the oldest go when there are more than the limit.
    public var history: [ReceivedPacket] { inbox.withLock { $0.history } }
    /// The packets that came, in number.
    public var receivedCount: Int { inbox.withLock { $0.received } }
    /// The packets not taken yet for which `matches` is true. They stay.
    public func pending(where matches: @escaping @Sendable (ReceivedPacket) -> Bool) -> [ReceivedPacket] { inbox.withLock { $0.pending(matches) } }
    /// Forgets all packets not taken yet.
    public func discardPending() { inbox.withLock { $0.discardUntaken() } }
    /// What the server did against the rules: counters that are not 0, 1, 2, …, timestamps that are absent or go back (which they may once for each
    /// replay asked for by ``request(_:objectID:data:deadline:)``), text that is no JSON, frames that are not text. The first 1,000 are kept. With
    /// ``Options/readAhead`` the order is not checked.
    public var violations: [String] { inbox.withLock { $0.violations } }
    /// Pings the server sent.
    public var pingCount: Int { pings.load(ordering: .relaxed) }

    /// Stops reading from the network, as a client does that hangs: what the server sends piles up on its side.
    public func pauseReading() async throws { try await channel.setOption(.autoRead, value: false).get() }
    /// Reads on.
    public func resumeReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    // MARK: The end

    /// How the socket ended; nil while it is open.
    public var closure: SocketClosure? { inbox.withLock { $0.closure } }

    /// Waits for the end of the socket.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded`; `CancellationError`.
    public func waitForClose(deadline: ContinuousClock.Instant? = nil) async throws -> SocketClosure {
        try await wait(until: deadline, for: "the socket's end") { SocketInbox.Waiter.close($0) }
    }

    /// Closes in good order: says so, and waits until the server has answered, or the deadline has passed.
    public func close(code: UInt16 = 1000, deadline: ContinuousClock.Instant? = nil) async {
        var data = ByteBuffer()
        data.writeInteger(code)
        enqueueFrame(.connectionClose, data: data)
        _ = try? await waitForClose(deadline: deadline ?? .now + .seconds(5))
        try? await channel.close()
    }

    /// Drops the connection without a word, as a lost network does.
    /// - Parameter reset: whether the server hears of it by a reset instead of an orderly end of the stream.
    public func abort(reset: Bool = false) async {
        if reset, let options = channel as? any SocketOptionProvider {
            try? await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        let channel = channel
        let closing = channel.eventLoop.submit {
            // Below TLS, which would say goodbye first and wait for an answer.
            let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
            if let tls { tls.close(promise: nil) } else { channel.close(promise: nil) }
        }
        try? await closing.get()
        try? await channel.closeFuture.get()
    }

    // MARK: Called by the handler

    func textReceived(_ text: String) {
        let (taker, packet, observers, waiting) = inbox.withLock { inbox in
            let (taker, packet, observers) = inbox.packetReceived(text, at: .now)
            return (taker, packet, observers, inbox.untakenCount)
        }
        if let readAhead, waiting > readAhead, !isPaused.exchange(true, ordering: .relaxed) {
            channel.setOption(.autoRead, value: false).whenComplete { _ in }
        }
        for observer in observers { observer.yield(packet) }
        switch taker {
        case .response(_, let continuation), .match(_, let continuation): continuation.resume(returning: packet)
        case .close, nil: break
        }
    }

    func binaryReceived() { inbox.withLock { $0.binaryReceived() } }

    func pingReceived() { pings.add(1, ordering: .relaxed) }

    func connectionEnded(_ closure: SocketClosure) {
        guard let (waiters, observers) = inbox.withLock({ $0.closed(closure) }) else { return }
        for observer in observers { observer.finish() }
        for waiter in waiters {
            if case .close(let continuation) = waiter { continuation.resume(returning: closure) } else { waiter.fail(Self.closed(closure)) }
        }
    }

    // MARK: Waiting and writing

    private static func closed(_ closure: SocketClosure?) -> ProtocolClientError {
        ProtocolClientError(.closed, "the socket has closed" + (closure?.code.map { " with code \($0)" } ?? " without a close frame"))
    }

    private func number() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Waits by what `waiter` makes, until the deadline or cancellation; each continuation is resumed by the code that removes it from the inbox.
    private func wait<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, for what: String, by waiter: (CheckedContinuation<Value, any Error>) -> SocketInbox.Waiter,
        afterwards: () -> Void = {}
    ) async throws -> Value {
        let id = number()
        let late = ProtocolClientError(.deadlineExceeded, "\(what) did not come in time")
        let remaining = (deadline ?? .now + ProtocolClient.patience) - .now
        guard remaining > .zero else { throw late }
        var timeout: Scheduled<Void>?
        defer { timeout?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = waiter(continuation)
                switch inbox.withLock({ $0.addWaiter(waiter, id: id) }) {
                case .waiting: break
                case .closed: return waiter.fail(Self.closed(closure))
                case .packet(let packet): return waiter.succeed(packet)
                case .closure(let closure): return waiter.succeed(closure)
                }
                timeout = channel.eventLoop.scheduleTask(in: TimeAmount(remaining)) { [self] in inbox.withLock { $0.removeWaiter(id) }?.fail(late) }
                afterwards()
                // Cancelled before it waited: no other code would notice.
                if Task.isCancelled { inbox.withLock { $0.removeWaiter(id) }?.fail(CancellationError()) }
            }
        } onCancel: {
            inbox.withLock { $0.removeWaiter(id) }?.fail(CancellationError())
        }
    }

    private func enqueueFrame(_ opcode: WebSocketOpcode, data: ByteBuffer) {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data), promise: nil)
    }

    private func sendFrame(_ opcode: WebSocketOpcode, data: ByteBuffer) async throws {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        try await writing { try await self.channel.writeAndFlush(frame).get() }
    }

    private func writing(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            throw closure.map { Self.closed($0) } ?? ProtocolClientError(.transport, "a frame could not be sent: \(error)")
        }
    }
}
